"""What a program on a board takes, and what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from usmp.boards.board import Board

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Section:
    """A section that takes memory of the board.

    Parameters
    ----------
    name
        in the ELF file.
    memory
        the memory of the board that it lies in.
    address, size_bytes
        its bytes there.
    """

    name: str
    memory: str
    address: int
    size_bytes: int


@dataclass(frozen=True)
class ProgramMemory:
    """The memory of a program in bytes, by purpose.

    Parameters
    ----------
    pools
        planned workspace, and what is beside states that last.
    stack
        as large as the Makefile asks for.
    variables
        all else that programs write.
    constants
        constant pools.
    code
        all else that is only read, and what variables begin with.
    """

    pools: int
    stack: int
    variables: int
    constants: int
    code: int


@dataclass(frozen=True)
class BoardRuns:
    """What the program did, one run after the other.

    Parameters
    ----------
    outputs
        the arrays of each run, by name.
    instructions
        instructions of each run.
    stack_used_bytes, stack_size_bytes
        of the whole program.
    entries
        the entry of each run; empty if there is only one.
    operators
        instructions of each operator of the module in each run; empty unless the C was made to
        tell (`tir.usmp.profile`).
    """

    outputs: list[dict[str, np.ndarray]]
    instructions: list[int]
    stack_used_bytes: int
    stack_size_bytes: int
    entries: Sequence[str] = ()
    operators: Sequence[Sequence[int]] = ()


def program_memory(sections: Sequence[Section], board: Board) -> ProgramMemory:
    """The sections by purpose."""

    def total(*prefixes: str) -> int:
        return sum(s.size_bytes for s in sections if s.name.startswith(prefixes))

    writable = {memory.name for memory in board.memories if not memory.is_read_only}
    pools, stack, constants = total(".pool_", ".noinit_"), total(".stack"), total(".constants_")
    written = sum(s.size_bytes for s in sections if s.memory in writable)
    read = sum(s.size_bytes for s in sections) - written
    return ProgramMemory(
        pools=pools,
        stack=stack,
        variables=written - pools - stack,
        constants=constants,
        code=read - constants + total(".data"),
    )
