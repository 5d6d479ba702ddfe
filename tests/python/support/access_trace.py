"""How far apart two buffers must be at the least, found by running a PrimFunc on bytes.

The oracle for `usmp.analysis.safe_overlap`: it looks at what is really accessed, in which order,
and knows nothing of loops or integer sets. A run shows one path only: what is found here is exact
where no content decides what is accessed, and else a bound from below.
"""

from __future__ import annotations

from tvm import tirx
from tvm.ir import IRModule

from support.tir_interpreter import Interpreter
from support.tir_memory import CONSTANT_DATA, Pointer


class Tracer(Interpreter):
    """An interpreter that remembers each access of the parameters and of what is allocated.

    All executions of one AllocBuffer count as the same memory, as in a plan.
    """

    def __init__(self, mod: IRModule, **how: bool | int) -> None:
        super().__init__(mod, steps=2_000_000, **how)
        self.accesses: list[tuple[int, int, int, bool]] = []
        """Number of the memory, first byte, byte after the last, and whether it was written."""
        self.sizes: dict[tirx.Var, int] = {}
        """Bytes of each memory."""
        self.numbers: dict[tirx.Var, int] = {}
        self.watched: dict[int, tuple[int, list]] = {}
        """Number and content of each memory by its `id`, which is its own while this holds it."""

    def watch(self, buffer: tirx.Var, memory: list) -> None:
        """Remember the accesses of `memory` as those of `buffer`."""
        number = self.numbers.setdefault(buffer, len(self.numbers))
        self.sizes[buffer] = len(memory)
        self.watched[id(memory)] = number, memory

    def execute(self, stmt: tirx.Stmt, variables: dict) -> None:
        super().execute(stmt, variables)
        if isinstance(stmt, tirx.AllocBuffer) and is_workspace(stmt):
            self.watch(stmt.buffer, variables[stmt.buffer].memory)

    def extern(self, name: str, values: list) -> int:
        """Something: what is accessed does not depend on it."""
        return 0

    def store(self, address: Pointer, index: int, itemsize: int, value: int) -> None:
        super().store(address, index, itemsize, value)
        self.remember(address, index, itemsize, is_write=True)

    def load(self, address: Pointer, index: int, itemsize: int) -> int:
        self.remember(address, index, itemsize, is_write=False)
        return super().load(address, index, itemsize)

    def remember(self, address: Pointer, index: int, itemsize: int, is_write: bool) -> None:
        number, _ = self.watched.get(id(address.memory), (None, None))
        if number is not None:
            start = address.offset + index * itemsize
            self.accesses.append((number, start, start + itemsize, is_write))

    def distance(self, y: tirx.Var, x: tirx.Var) -> int:
        """The least number of bytes that `x` must start below `y`, so that nothing that is written
        to `x` reaches a byte of `y` that is accessed later."""
        y_number, x_number = self.numbers[y], self.numbers[x]
        reach = distance = 0
        for number, start, stop, is_write in self.accesses:
            if number == x_number and is_write:
                reach = max(reach, stop)
            elif number == y_number:
                distance = max(distance, reach - start)
        return distance


def trace(mod: IRModule, name: str, contents: list[bytes | int], **how: bool) -> Tracer:
    """Run a PrimFunc, with memories of these contents as its arguments; a number is the size of one
    that has no content yet."""
    tracer = Tracer(mod, **how)
    pointers = [memory_of(content) for content in contents]
    for param, pointer in zip(mod[name].params, pointers, strict=True):
        tracer.watch(param, pointer.memory)
    tracer.call(name, pointers)
    return tracer


def is_workspace(stmt: tirx.AllocBuffer) -> bool:
    """Whether a planner places what is allocated, and not as a constant."""
    return stmt.buffer.scope().startswith("global") and CONSTANT_DATA not in stmt.annotations


def memory_of(content: bytes | int) -> Pointer:
    """Memory with a content, or of a size."""
    return Pointer([None] * content if isinstance(content, int) else list(content))
