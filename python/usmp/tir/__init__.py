"""Helpers for TIR in all layers: names of C functions, walks over nodes, spans."""
