"""Runs a PrimFunc with two of its buffers really in the same bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tvm import tirx
from tvm.ir import IRModule

from support.access_trace import memory_of
from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer

Outputs: TypeAlias = dict[tirx.Var, list[int | None]]


@dataclass(frozen=True)
class Operator:
    """A PrimFunc, and what to run it on.

    Parameters
    ----------
    mod
        the module; the PrimFunc is `main`, and calls the others.
    contents
        for each parameter its content before the run, or, if it has none, its bytes.
    alignment
        bytes; where the memories must start, so that every access is aligned.
    """

    mod: IRModule
    contents: list[bytes | int]
    alignment: int

    @property
    def func(self) -> tirx.PrimFunc:
        return self.mod["main"]

    @property
    def params(self) -> list[tirx.Var]:
        return list(self.func.params)

    @property
    def outputs(self) -> list[tirx.Var]:
        """The parameters that have no content before the run."""
        return [
            param
            for param, content in zip(self.params, self.contents, strict=True)
            if isinstance(content, int)
        ]


class _Placed(Interpreter):
    """An interpreter for which some allocations are in given places."""

    def __init__(self, mod: IRModule, places: dict[tirx.Var, Pointer]) -> None:
        super().__init__(mod, steps=2_000_000)
        self.places = places

    def execute(self, stmt: tirx.Stmt, variables: dict) -> None:
        super().execute(stmt, variables)
        if isinstance(stmt, tirx.AllocBuffer) and stmt.buffer in self.places:
            variables[stmt.buffer] = self.places[stmt.buffer]


def run(
    operator: Operator,
    pair: tuple[tirx.Var, tirx.Var] | None = None,
    sizes: tuple[int, int] = (0, 0),
    distance: int = 0,
) -> Outputs:
    """What is in each output after a run; a `None` is a byte that was never written.

    Parameters
    ----------
    pair, sizes
        y and x, and their bytes; x starts `distance` bytes below y in the same memory.
    """
    pointers = {
        param: memory_of(content)
        for param, content in zip(operator.params, operator.contents, strict=True)
    }
    places: dict[tirx.Var, Pointer] = {}
    if pair:
        y, x = pair
        memory: list[int | None] = [None] * max(sizes[1], distance + sizes[0])
        if y in pointers:
            memory[distance : distance + sizes[0]] = pointers[y].memory
        places = {y: Pointer(memory, distance), x: Pointer(memory)}
        pointers |= {param: places[param] for param in operator.params if param in places}
    _Placed(operator.mod, places).call("main", list(pointers.values()))
    return {
        output: pointers[output].memory[pointers[output].offset :][:size]
        for output, size in zip(operator.params, operator.contents, strict=True)
        if isinstance(size, int) and not (pair and output.same_as(pair[0]))
    }


def differing(expected: Outputs, actual: Outputs) -> list[str]:
    """Names of the outputs in `actual` of which some byte is not as expected; a byte that has no
    value when nothing overlaps may be anything."""
    return [
        str(output.name)
        for output, content in actual.items()
        if any(
            byte is not None and byte != found
            for byte, found in zip(expected[output], content, strict=True)
        )
    ]
