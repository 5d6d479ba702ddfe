"""The commands of `tvmc`, in the order of its help."""

from __future__ import annotations

COMMANDS = (
    "compile",
    "plan",
    "explain",
    "explore",
    "run",
    "export-test",
    "diff",
    "check",
    "info",
    "list",
    "completion",
)
