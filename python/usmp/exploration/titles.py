"""The title of a sweep, and a line with the number of its configurations."""

from __future__ import annotations

from usmp.exploration.sweep import Sweep


def title(sweep: Sweep) -> str:
    """Return the names of the input files; they can contain any characters."""
    return ", ".join(file.name for file in sweep.inputs)


def headline(sweep: Sweep) -> str:
    """Return how many configurations are done, and how many of them are best."""
    rows = sweep.rows()
    best = sum(row.verdict.is_best for row in rows)
    return f"{len(rows)} of {len(sweep.configurations)} configurations, {best} best"
