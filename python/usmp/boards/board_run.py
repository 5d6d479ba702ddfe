"""The memory and the runs of a program on a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from usmp.boards.board import Board

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Section:
    """A section of a program in a memory of the board.

    Parameters
    ----------
    name
        name in the ELF file.
    memory
        name of the memory.
    address, size_bytes
        first address, and size.
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
        bytes of workspace pools and of states that survive a reset.
    stack
        bytes of the stack, as in the Makefile.
    variables
        bytes of all other variables.
    constants
        bytes of constant pools.
    code
        bytes of code and other constants, with the initial values of variables.
    """

    pools: int
    stack: int
    variables: int
    constants: int
    code: int


@dataclass(frozen=True)
class BoardRuns:
    """The results of the runs of a program, in order.

    Parameters
    ----------
    outputs
        output arrays of each run; name -> array.
    instructions
        number of instructions of each run.
    stack_used_bytes, stack_size_bytes
        high-water mark and size of the program's stack.
    entries
        name of the entry of each run; empty if there is only one entry.
    operators
        instructions of each operator of the module in each run; empty without profiling
        (`tir.usmp.debug=profile`).
    """

    outputs: list[dict[str, np.ndarray]]
    instructions: list[int]
    stack_used_bytes: int
    stack_size_bytes: int
    entries: Sequence[str] = ()
    operators: Sequence[Sequence[int]] = ()


def program_memory(sections: Sequence[Section], board: Board) -> ProgramMemory:
    """Return the memory of a program by purpose, from its sections."""

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
