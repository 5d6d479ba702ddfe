"""Many builds of one model, side by side: measured, compared, stored, drawn.

Nothing here builds a model: `in_processes` and `on_cluster` get a function that does.
"""
