"""Relax operators and their main function to AoT TIR: schedules, main function, states."""
