"""Exit statuses of commands, beside those of signals."""

from __future__ import annotations

FAILED = 1
"""An error, of usage too: one line on stderr says which."""

NOT_WITHIN = 2
"""The command did its work, and the answer is no: memory grew by more than is allowed, or a model
does not fit."""
