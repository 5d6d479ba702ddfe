"""Operators in TIR, which front ends create, and facts about operators."""
