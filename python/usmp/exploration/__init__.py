"""Many ways to build one model, side by side: measured, compared, kept, drawn.

Nothing here builds a model: what builds one is given to `run_tasks`.
"""
