"""Many builds of one model, side by side: measured, compared, stored, drawn.

Nothing here builds a model: `run_tasks` gets a function that does.
"""
