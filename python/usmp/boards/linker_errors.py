"""Explain in one line the linker's error for a memory that is too small."""

from __future__ import annotations

import re

from usmp.boards.board import Board

_OVERFLOW = re.compile(r"region `(\w+)' overflowed by (\d+) bytes?")


def linker_error(stderr: str, board: Board) -> str | None:
    """Return a line about the memories that overflow, or None for another error."""
    overflows = dict(_OVERFLOW.findall(stderr))
    if not overflows:
        return None
    parts = [
        f"{board.memory(name)} overflowed by {excess} bytes" for name, excess in overflows.items()
    ]
    return (
        f"the program does not fit board {board.name}: {'; '.join(parts)}; use smaller pools or a "
        "smaller stack (STACK_SIZE)"
    )
