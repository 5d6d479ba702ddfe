"""Packing of an operator's constants into the fewest bytes that give the same outputs."""
