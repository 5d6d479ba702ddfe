"""Kernels of operators that copy: padding, concatenation, slices, repeated pixels.

Elements that are consecutive in both the output and its source are copied by one call. Loops keep
the order of the output, so that the output may overwrite elements that were copied before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TypeAlias

import numpy as np
import tvm
from tvm import tirx
from tvm.ir import Call, Range, TensorLoad
from tvm.sym import Analyzer

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.only_block import only_block
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.call.operator_parts import are_all, substituted
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.decided import decided, turning_points
from usmp.ops.kernels.loops.loops import counted, loop
from usmp.tir.nodes import nodes_of, sequence
from usmp.tir.op_names import is_op
from usmp.tir.tensor_intrin import tensor_intrin

_LEAST_BYTES = 4
"""The least average size of a copy: with less, plain loops are as fast."""

_VECTOR_BYTES = 64
"""The least size of a copy for which functions with vectors are faster."""

_Known: TypeAlias = Mapping[tirx.Var, tirx.Expr]
"""The index of an element on each axis of the output that has a loop."""


def copy_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return a kernel that copies runs of elements; None for operators that compute values, or
    whose runs are short."""
    block = only_block(call.func)
    if block is None:
        return None
    axes = [iter_var.var for iter_var in block.iter_vars]
    if not _is_copied(block.body.value) or not are_all(block.body.indices, axes):
        return None
    output = block.body.buffer
    if not axes:
        return None
    extents = tuple(int(extent) for extent in output.shape)
    copies = _Copies(tuple(axes), extents, output, core)
    body = copies.of_axis(0, block.body.value, {}, {})
    elements = prod(extents)
    if body is None or elements * copies.itemsize < _LEAST_BYTES * body.count:
        return None
    tile = counted(max(elements // body.count, 1), "element")
    return kernel(call, [TiledBody(body.stmt, Schedule(tile))], {})


def _is_copied(value: tirx.Expr) -> bool:
    """Return whether a value is an element or a constant in each branch of its conditions."""
    if isinstance(value, Call) and is_op(value, "prim.if_then_else"):
        return _is_copied(value.args[1]) and _is_copied(value.args[2])
    if isinstance(value, tirx.Select):
        return _is_copied(value.true_value) and _is_copied(value.false_value)
    if isinstance(value, TensorLoad):
        # Exclude scalars, and elements whose indices are data, because they form no runs.
        reads = [load for index in value.indices for load in nodes_of(index, TensorLoad)]
        return len(value.indices) > 0 and not reads
    return isinstance(value, tirx.IntImm | tirx.FloatImm)


@dataclass(frozen=True)
class _Statement:
    """A statement, and the number of copies that it executes."""

    stmt: tirx.Stmt
    count: int


@dataclass(frozen=True)
class _Copies:
    """The copies that fill an output."""

    axes: tuple[tirx.Var, ...]
    extents: tuple[int, ...]
    output: tirx.Var
    core: Core

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(tvm.DataType(str(self.output.dtype)).itemsize)

    def of_axis(
        self, axis: int, value: tirx.Expr, outer: _Known, ranges: Mapping[tirx.Var, range]
    ) -> _Statement | None:
        """Return the stores of an axis, at `outer` indices in `ranges`; None if it has no runs."""
        var, extent = self.axes[axis], self.extents[axis]
        parts = []
        bounds = [0, *turning_points(value, var, extent), extent]
        for begin, end in pairwise(bounds):
            inside = {**ranges, var: range(begin, end)}
            part = self._part(axis, decided(value, inside), outer, inside)
            if part is None:
                return None
            parts.append(part)
        return _Statement(
            sequence([part.stmt for part in parts]), sum(part.count for part in parts)
        )

    def _part(
        self, axis: int, value: tirx.Expr, outer: _Known, ranges: Mapping[tirx.Var, range]
    ) -> _Statement | None:
        """Return the statement for a range of the axis in which conditions on it do not change;
        None if it has no runs."""
        var = self.axes[axis]
        inside, dtype = ranges[var], str(var.ty.dtype)
        count = len(inside) * prod(self.extents[axis + 1 :])
        first = tirx.IntImm(dtype, inside.start)
        if self._is_run(axis, value, ranges):
            return _Statement(self._run(value, self._at(axis, outer, first), count), 1)
        if axis + 1 == len(self.axes):
            return None
        inner: list[_Statement | None] = []

        def body(i: tirx.Expr) -> tirx.Stmt:
            inner.append(self.of_axis(axis + 1, value, {**outer, var: first + i}, ranges))
            return inner[0].stmt if inner[0] else tirx.Evaluate(0)

        stmt = loop(var.name, len(inside), body, dtype)
        return _Statement(stmt, len(inside) * inner[0].count) if inner[0] else None

    def _at(self, axis: int, outer: _Known, first: tirx.Expr) -> dict[tirx.Var, tirx.Expr]:
        """Return the indices of the first element of a run that begins at `first` of an axis."""
        zeros = {var: tirx.IntImm(str(var.ty.dtype), 0) for var in self.axes[axis + 1 :]}
        return {**outer, self.axes[axis]: first, **zeros}

    def _is_run(self, axis: int, value: tirx.Expr, ranges: Mapping[tirx.Var, range]) -> bool:
        """Return whether elements over this and all inner axes are a run, or one repeated byte."""
        if isinstance(value, tirx.IntImm | tirx.FloatImm):
            return _byte_of(value) is not None
        if not isinstance(value, TensorLoad) or value.ty.dtype != self.output.dtype:
            return False
        if len({str(index.ty.dtype) for index in (*value.indices, *self.axes)}) > 1:
            return False
        analyzer = Analyzer()
        for var, extent in zip(self.axes, self.extents, strict=True):
            known = ranges.get(var, range(extent))
            analyzer.bind(var, Range(known.start, known.stop))
        offset = _flat(value.source.shape, value.indices) - _flat(
            self.extents[axis:], self.axes[axis:]
        )
        rest = analyzer.simplify(offset)
        return not any(var in self.axes[axis:] for var in nodes_of(rest, tirx.Var))

    def _run(self, value: tirx.Expr, first: _Known, count: int) -> tirx.Stmt:
        """Return the call that copies or fills `count` elements of the output from `first` on."""
        size = count * self.itemsize
        vectors = "mve_" if self.core.has_mve and size >= _VECTOR_BYTES else ""
        to = _simplified([substituted(axis, first) for axis in self.axes])

        def element(source: tirx.Expr | None) -> tirx.Stmt:
            def store(i: tirx.Expr) -> tirx.Stmt:
                copied = value if source is None else value.source[_moved(source, i)]
                return tirx.BufferStore(self.output, copied, _moved(to, i))

            return loop("i", count, store)

        if not isinstance(value, TensorLoad):
            arguments = [self.output[to], size, _byte_of(value)]
            return tensor_intrin(f"tvmgen_{vectors}fill", arguments, element(None))
        source = _simplified([substituted(index, first) for index in value.indices])
        arguments = [self.output[to], value.source[source], size]
        return tensor_intrin(f"tvmgen_{vectors}copy", arguments, element(source))


def _moved(indices: Sequence[tirx.Expr], i: tirx.Expr) -> list[tirx.Expr]:
    """Add `i` to the last index, which may exceed its extent: the elements are consecutive."""
    return [*indices[:-1], indices[-1] + i.astype(str(indices[-1].ty.dtype))]


def _simplified(indices: Sequence[tirx.Expr]) -> list[tirx.Expr]:
    analyzer = Analyzer()
    return [analyzer.simplify(index) for index in indices]


def _flat(shape: Sequence[tirx.Expr | int], indices: Sequence[tirx.Expr]) -> tirx.Expr:
    """Return the offset of an element in its buffer, in elements."""
    number = tirx.IntImm("int64", 0)
    for extent, index in zip(shape, indices, strict=True):
        number = number * tirx.IntImm("int64", int(extent)) + index.astype("int64")
    return number


def _byte_of(value: tirx.IntImm | tirx.FloatImm) -> int | None:
    """Return the value of all bytes of a constant, from -128 to 127; None if they differ."""
    distinct = set(np.array(value.value, str(value.ty.dtype)).tobytes())
    return int(np.int8(np.uint8(distinct.pop()))) if len(distinct) == 1 else None
