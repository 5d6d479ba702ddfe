"""Which memories of a board the linker script gives to pools and to constants."""

from __future__ import annotations

import pytest

from usmp.boards.board import BOARDS
from usmp.boards.project.linker_script import print_linker_script


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_pools_lie_where_memory_is_written_and_constants_where_it_is_not(board):
    script = print_linker_script(board)
    for memory in board.memories:
        assert (f"\n  .pool_{memory.name} (NOLOAD)" in script) == (not memory.is_read_only)
        assert (f"\n  .constants_{memory.name} :" in script) == memory.is_read_only
