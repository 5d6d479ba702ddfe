"""TIR as text of the C language."""
