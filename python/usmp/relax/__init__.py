"""Relax to Relax: what is known of a model before it becomes TIR, and the passes over it."""
