"""The commands of `tvmc`, in the order of its help."""

from __future__ import annotations

import re

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


def message_of(stderr: str, program: str = "tvmc") -> str:
    """The message of a command that fails, whose lines are sentences, in one line."""
    first, *others = stderr.splitlines()
    assert first.startswith(f"{program}: error: ")
    assert all(re.match(r"  \S", line) for line in others)
    lines = [first.removeprefix(f"{program}: error: "), *map(str.strip, others)]
    ends = [line if line[-1] in ".:;?" else f"{line}." for line in lines]
    return " ".join(ends).removesuffix(".")
