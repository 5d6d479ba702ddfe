"""Exit statuses of commands, except those of signals."""

from __future__ import annotations

FAILED = 1
"""An error, including wrong usage, which stderr describes."""

NOT_WITHIN = 2
"""A negative result of a check: memory grew by more than is allowed, or a model does not fit."""
