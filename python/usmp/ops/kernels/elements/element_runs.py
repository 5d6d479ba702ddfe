"""Runs of elements that are consecutive in both an output and the inputs of an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

from tvm import s_tir, tirx
from tvm.ir import TensorLoad

from usmp.objects.schedule import Schedule
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.operator_parts import are_all, substituted
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.loops.loops import loop
from usmp.tir.nodes import nodes_of, sequence
from usmp.tir.tensor_intrin import tensor_intrin

_REPEATED = 128
"""The most bytes on the stack that are filled with a broadcast element."""

Compute: TypeAlias = Callable[[Sequence[Line], Line, int], tirx.Stmt]
"""Returns the statement that computes a count of output elements from a line for each term."""


@dataclass(frozen=True)
class ElementRuns:
    """Loops over the outer axes of an output around calls that each compute a run.

    Parameters
    ----------
    block
        the only block of an operator.
    terms
        the elements that an output element is computed from. A term that is broadcast is int8.
    compute
        returns the statement for a run.
    fill
        the tensor intrinsic that fills memory with a byte.
    outer
        the least number of outermost axes with loops, even if runs could be longer.
    """

    block: s_tir.SBlock
    terms: tuple[TensorLoad, ...]
    compute: Compute
    fill: str
    outer: int = 0

    def kernel(self, call: OperatorCall, schedule: Schedule, least: int) -> Kernel | None:
        """Return the kernel of a call, with a schedule by rows if there is one; None if a run has
        fewer than `least` elements."""
        if self.elements < least:
            return None
        by_rows = self.by_rows(least)
        rows = None if by_rows is None else TiledBody(by_rows.stmt(), schedule)
        return kernel(call, [TiledBody(self.stmt(), schedule)], {}, rows)

    def by_rows(self, least: int) -> ElementRuns | None:
        """Return runs that do not cross the outermost axis with an extent above 1. None if
        `self` has such runs already, or if the new runs have fewer than `least` elements."""
        extents = [int(extent) for extent in self._output.shape]
        outer = next((axis + 1 for axis, extent in enumerate(extents) if extent > 1), 0)
        runs = replace(self, outer=outer)
        return runs if outer > self._first and runs.elements >= least else None

    @cached_property
    def _axes(self) -> tuple[tirx.Var, ...]:
        return tuple(iter_var.var for iter_var in self.block.iter_vars)

    @property
    def _output(self) -> tirx.Var:
        return self.block.body.buffer

    @cached_property
    def _first(self) -> int:
        """The outermost axis without a loop. Over this and all inner axes, each term is
        consecutive like the output, or broadcast."""
        runs = (min(self._followed(term), self._repeated(term)) for term in self.terms)
        return max(self.outer, *runs)

    @property
    def elements(self) -> int:
        """The number of elements of a run; 0 if the output is stored in another order."""
        if not are_all(self.block.body.indices, self._axes):
            return 0
        return prod(int(extent) for extent in self._output.shape[self._first :])

    def _followed(self, term: TensorLoad) -> int:
        """Return the outermost axis from which on a term is consecutive like the output."""
        first = len(self._axes)
        for back in range(1, min(len(self._axes), len(term.indices)) + 1):
            is_axis = term.indices[-back].same_as(self._axes[-back])
            if not is_axis or int(term.source.shape[-back]) != int(self._output.shape[-back]):
                break
            first = len(self._axes) - back
        outer = term.indices[: len(term.indices) - (len(self._axes) - first)]
        return len(self._axes) if _variables(outer) & set(self._axes[first:]) else first

    def _repeated(self, term: TensorLoad) -> int:
        """Return the outermost axis from which on a term is a single, broadcast element."""
        used = _variables(term.indices)
        return max((n + 1 for n, axis in enumerate(self._axes) if axis in used), default=0)

    def stmt(self, outer: tuple[tirx.Expr, ...] = ()) -> tirx.Stmt:
        """Return the statement that computes all elements at some indices of the outer axes."""
        axis = len(outer)
        if axis < self._first:
            var, extent = self._axes[axis], int(self._output.shape[axis])
            return loop(var.name, extent, lambda i: self.stmt((*outer, i)), str(var.ty.dtype))
        zeros = (tirx.IntImm(str(var.ty.dtype), 0) for var in self._axes[axis:])
        known = dict(zip(self._axes, (*outer, *zeros), strict=True))

        def line(buffer: tirx.Var, indices: Sequence[tirx.Expr]) -> Line:
            return Line(buffer, tuple(substituted(index, known) for index in indices), 1)

        output = line(self._output, self._axes)
        if all(self._followed(term) <= self._first for term in self.terms):
            followed = [line(term.source, term.indices) for term in self.terms]
            return self.compute(followed, output, self.elements)
        size = min(self.elements, _REPEATED)
        lines: list[Line] = []
        statements: list[tirx.Stmt] = []
        for term in self.terms:
            if self._followed(term) <= self._first:
                lines.append(line(term.source, term.indices))
                continue
            kept = Line(
                tirx.decl_buffer((size,), "int8", "repeated", scope="local"),
                (tirx.IntImm("int32", 0),),
                0,
            )
            lines.append(kept)
            statements += self._filled(kept, substituted(term, known), size)
        return sequence([*statements, *self._parts(lines, output, size)])

    def _parts(self, lines: Sequence[Line], output: Line, size: int) -> Iterator[tirx.Stmt]:
        """Yield the statements of a run with broadcast terms, `size` elements at a time."""
        whole, rest = divmod(self.elements, size)

        def part(n: tirx.Expr, count: int) -> tirx.Stmt:
            moved = [
                line.from_element(n * size) if self._followed(term) <= self._first else line
                for line, term in zip(lines, self.terms, strict=True)
            ]
            return self.compute(moved, output.from_element(n * size), count)

        yield loop("part", whole, lambda n: part(n, size))
        if rest:
            yield part(tirx.IntImm("int32", whole), rest)

    def _filled(self, kept: Line, element: tirx.Expr, size: int) -> Iterator[tirx.Stmt]:
        """Yield the statements that fill a line with a broadcast element."""
        value = tirx.Var("value", "int8")
        body = loop("i", size, lambda i: kept.store(i, value))
        yield tirx.AllocBuffer(kept.buffer)
        yield tirx.Bind(value, element)
        yield tensor_intrin(self.fill, [kept.at(0), size, value.astype("int32")], body)


def _variables(indices: Sequence[tirx.Expr]) -> set[tirx.Var]:
    return {var for index in indices for var in nodes_of(index, tirx.Var)}
