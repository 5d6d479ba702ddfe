"""Which memories of a program hold values at the same time, found by running it.

A byte matters from a write to the last read of what was written, and what is written in between
must be elsewhere. Nothing of the planner is in here either.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from itertools import count

from tvm import tirx
from tvm.ir import IRModule

from support.tir_interpreter import Interpreter
from support.tir_memory import CONSTANT_DATA, Pointer


class Recorder(Interpreter):
    """An interpreter that remembers when memory was accessed; its clock ticks at every access."""

    def __init__(self, mod: IRModule, **how: bool) -> None:
        super().__init__(mod, **how)
        self.clock = count()
        self.known: dict[int, tuple[str, list]] = {}
        """Name and content of each memory by its `id`, which is its own while this holds it."""
        self.current: dict[tuple[int, int], tuple[int, int]] = {}
        """For each byte when it was written, and when it was read after that."""
        self.writes: dict[str, list[int]] = defaultdict(list)
        self.needed: dict[str, set[tuple[int, int]]] = defaultdict(set)
        """Spans of time between a write and the last read of what it wrote."""

    def watch(self, name: str, pointer: Pointer) -> None:
        """Record the accesses of a memory; several may have one name."""
        self.known[id(pointer.memory)] = name, pointer.memory

    def execute(self, stmt: tirx.Stmt, variables: dict) -> None:
        super().execute(stmt, variables)
        if isinstance(stmt, tirx.AllocBuffer) and CONSTANT_DATA not in stmt.annotations:
            self.watch(str(stmt.buffer.name), variables[stmt.buffer])

    def store(self, address: Pointer, index: int, itemsize: int, value: int) -> None:
        super().store(address, index, itemsize, value)
        now = next(self.clock)
        for byte in self.bytes_of(address, index, itemsize):
            self.finish(byte)
            self.current[byte] = now, now
        if id(address.memory) in self.known:
            self.writes[self.known[id(address.memory)][0]].append(now)

    def load(self, address: Pointer, index: int, itemsize: int) -> int:
        now = next(self.clock)
        for byte in self.bytes_of(address, index, itemsize):
            self.current[byte] = self.current.get(byte, (now, now))[0], now
        return super().load(address, index, itemsize)

    def bytes_of(self, address: Pointer, index: int, itemsize: int) -> list[tuple[int, int]]:
        start = address.offset + index * itemsize
        known = id(address.memory) in self.known
        return [(id(address.memory), start + i) for i in range(itemsize)] if known else []

    def finish(self, byte: tuple[int, int]) -> None:
        """What the byte holds is not read any more."""
        written, read = self.current.get(byte, (0, 0))
        if written < read:
            self.needed[self.known[byte[0]][0]].add((written, read))

    def held_together(self) -> set[tuple[str, str]]:
        """Pairs of names, the first of which was written while the second was needed."""
        for byte in self.current:
            self.finish(byte)
        spans = {name: _merge(needed) for name, needed in self.needed.items()}
        return {
            (name, other)
            for name, times in self.writes.items()
            for other, needed in spans.items()
            if any(bisect_right(times, start) < bisect_right(times, stop) for start, stop in needed)
        }


def _merge(spans: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same times in as few spans as possible."""
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], stop)
        else:
            merged.append((start, stop))
    return merged
