"""Operators of our own in TIR: what models are made of once they are imported."""
