"""The part of each operand that an operator reads for a part of its output, along one axis.

The indices of the loads determine this part, for any operator: elements at two indices of the axis
are computed alike, except for the indices of their loads and for padding.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad, Var
from tvm.sym import Analyzer

from usmp.ops.form.nests import Form, Nest
from usmp.tir.nodes import mentions, nodes_of

Interval: TypeAlias = tuple[int, int]
"""Indices [begin, end) along an axis."""

_MOST_INDICES = 4096
"""The longest axis whose indices are compared one by one, to find the ends of padding."""


@dataclass(frozen=True)
class AxisRead:
    """The indices of an operand that index `t` of the output reads.

    They range from `stride * t + first` to `stride * t + first + count - 1`.

    Parameters
    ----------
    axis
        axis of the operand.
    stride
        increase of the first index from one index of the output to the next: at least 1.
    first
        first index for index 0 of the output: negative if it is in padding.
    count
        number of indices: at least 1.
    """

    axis: int
    stride: int
    first: int
    count: int

    @property
    def is_same(self) -> bool:
        """Whether each index of the output reads the same index of the operand."""
        return (self.stride, self.first, self.count) == (1, 0, 1)

    def needed(self, indices: Interval, extent: int) -> Interval:
        """Return the indices of an operand with this extent that a range of the output reads."""
        begin, end = indices
        last = self.stride * (end - 1) + self.first + self.count
        return max(0, self.stride * begin + self.first), min(extent, last)


@dataclass(frozen=True, eq=False)
class AxisNest:
    """A nest that computes elements along the axis.

    Parameters
    ----------
    nest
        the nest.
    iterator
        the iterator that is the index on the axis.
    value
        value of an element; indices of its loads on the axis are relative to `stride * iterator`.
    """

    nest: Nest
    iterator: Var
    value: tirx.Expr


@dataclass(frozen=True, eq=False)
class AxisAccess:
    """How an operator reads its operands along an axis of its output.

    Parameters
    ----------
    form
        form of the operator.
    axis, extent
        axis and extent of the output.
    reads
        index of a parameter -> the indices of this operand that each index of the output reads.
    nests
        the nests that compute elements along the axis.
    buffers
        intermediate buffer between nests -> its axis that corresponds to `axis`.
    """

    form: Form
    axis: int
    extent: int
    reads: Mapping[int, AxisRead]
    nests: tuple[AxisNest, ...]
    buffers: Mapping[Var, int]

    @property
    def is_uniform(self) -> bool:
        """Whether values depend on the index only through loads."""
        return not any(mentions(nest.value, nest.iterator) for nest in self.nests)

    @property
    def is_parallel(self) -> bool:
        """Whether each index is computed from the same index of operands with the same extent."""
        params = self.form.func.params
        return all(
            read.is_same and int(params[index].shape[read.axis]) == self.extent
            for index, read in self.reads.items()
        )

    @cached_property
    def alike(self) -> Interval:
        """Indices that all nests compute alike: the intersection of their longest intervals."""
        intervals = [_alike(nest, self.extent) for nest in self.nests]
        begins, ends = zip(*intervals, strict=True)
        return max(begins), min(ends)


def along(
    form: Form, axes: Mapping[int, int], constants: Collection[int] = ()
) -> AxisAccess | None:
    """Return how the output depends on its operands along an axis.

    Parameters
    ----------
    axes
        index of a parameter -> the axis of this operand.
    constants
        indices of constant parameters to slice if each index of the output reads other elements.

    Returns
    -------
    AxisAccess | None
        None if no axis of the output corresponds to these axes, or if they cannot be followed.
    """
    params = form.func.params
    operands = {params[index]: axis for index, axis in axes.items()}
    reader = _Reader(operands, frozenset(params[index] for index in constants))
    if not all(map(reader.read, form.nests)) or form.output not in reader.axes:
        return None
    if reader.extent is None or set(reader.reads) != set(reader.operands):
        return None
    reads = {i: reader.reads[param] for i, param in enumerate(params) if param in reader.reads}
    axis = reader.axes.pop(form.output)
    between = {buffer: own for buffer, own in reader.axes.items() if buffer not in reader.operands}
    return AxisAccess(form, axis, reader.extent, reads, tuple(reader.nests), between)


class _Reader:
    """An analysis that follows the axis through the nests, in order.

    Parameters
    ----------
    operands
        operand -> its axis.
    constants
        other operands that can be sliced.
    """

    def __init__(self, operands: Mapping[Var, int], constants: frozenset[Var]) -> None:
        self.operands, self.constants = dict(operands), constants
        self.axes: dict[Var, int] = dict(operands)
        self.reads: dict[Var, AxisRead] = {}
        self.extent: int | None = None
        self.nests: list[AxisNest] = []
        self._loaded: set[Var] = set()

    def read(self, nest: Nest) -> bool:
        """Analyze the next nest; return False if `AxisRead` cannot describe its loads."""
        loads = [load for load in nest.loads if load.source in self.axes]
        if not loads:
            self._loaded |= {load.source for load in nest.loads}
            return True
        analyzer = nest.analyzer()
        iterator = self._iterator(analyzer, nest, loads)
        if iterator is None or self.extent not in (None, nest.extents[iterator]):
            return False
        if not self._slice_constants(nest, iterator):
            return False
        loads = [load for load in nest.loads if load.source in self.axes]
        axis = next(i for i, index in enumerate(nest.indices) if index.same_as(iterator))
        own = [load for load in nest.loads if load.source.same_as(nest.buffer)]
        value = self._relative(analyzer, nest, iterator, axis, [*loads, *own])
        if value is None:
            return False
        self.extent = nest.extents[iterator]
        self.axes[nest.buffer] = axis
        self.nests.append(AxisNest(nest, iterator, value))
        self._loaded |= {load.source for load in nest.loads}
        return True

    def _iterator(self, analyzer: Analyzer, nest: Nest, loads: list[TensorLoad]) -> Var | None:
        """Return the iterator of the nest that is the index on the axis; None if none is."""
        indices = [load.indices[self.axes[load.source]] for load in loads]
        simplified = [analyzer.simplify(index) for index in indices]
        # Fall back to the original index, because the index of an axis of extent 1 simplifies to 0.
        iterators = nest.spatial.intersection(nodes_of(simplified, Var))
        iterators = iterators or nest.spatial.intersection(nodes_of(indices, Var))
        if len(iterators) != 1:
            return None
        (iterator,) = iterators
        places = [index for index in nest.indices if mentions(index, iterator)]
        return iterator if len(places) == 1 and places[0].same_as(iterator) else None

    def _slice_constants(self, nest: Nest, iterator: Var) -> bool:
        """Add constants to the operands if each index on the axis reads other elements of them.

        Returns
        -------
        bool
            False if an earlier nest reads one of these constants as a whole.
        """
        for load in nest.loads:
            if load.source in self.constants and not nodes_of(load.indices, TensorLoad):
                places = [i for i, index in enumerate(load.indices) if mentions(index, iterator)]
                if len(places) == 1:
                    if load.source in self._loaded - self.axes.keys():
                        return False
                    self.operands[load.source] = self.axes[load.source] = places[0]
        return True

    def _relative(
        self, analyzer: Analyzer, nest: Nest, iterator: Var, axis: int, loads: list[TensorLoad]
    ) -> tirx.Expr | None:
        """Return the value with indices on the axis relative to `stride * iterator`.

        Returns
        -------
        tirx.Expr | None
            None if a load depends on the iterator in another way.
        """
        replaced: dict[TensorLoad, tirx.Expr] = {}
        for load in loads:
            load_axis = axis if load.source.same_as(nest.buffer) else self.axes[load.source]
            others = [index for place, index in enumerate(load.indices) if place != load_axis]
            if any(mentions(analyzer.simplify(other), iterator) for other in others):
                return None
            split = _offset(analyzer, load.indices[load_axis], iterator)
            if split is None:
                return None
            stride, offset, first, count = split
            if load.source in self.operands:
                if not self._widen(load.source, AxisRead(load_axis, stride, first, count)):
                    return None
            elif (stride, first, count) != (1, 0, 1):
                return None
            indices = [offset if p == load_axis else i for p, i in enumerate(load.indices)]
            replaced[load] = load.source[tuple(indices)]
        return tvm_ffi.structural_map(
            nest.value, (TensorLoad, lambda load: replaced.get(load, load))
        )

    def _widen(self, operand: Var, read: AxisRead) -> bool:
        """Include the indices of another load; return False if its stride differs."""
        known = self.reads.get(operand, read)
        if known.stride != read.stride:
            return False
        first = min(known.first, read.first)
        end = max(known.first + known.count, read.first + read.count)
        self.reads[operand] = AxisRead(read.axis, read.stride, first, end - first)
        return True


def _offset(
    analyzer: Analyzer, index: tirx.Expr, iterator: Var
) -> tuple[int, tirx.Expr, int, int] | None:
    """Split an index into `stride * iterator + offset`.

    Returns
    -------
    tuple[int, tirx.Expr, int, int] | None
        the stride, the offset, its least value and the number of values that it spans; None for
        other indices.
    """
    simplified = analyzer.simplify(index)
    if mentions(simplified, iterator):
        index = simplified
    following = at_index(index, iterator, iterator + 1)
    stride = analyzer.simplify(following - index)
    if not isinstance(stride, tirx.IntImm) or int(stride) < 1:
        return None
    offset = analyzer.simplify(index - iterator * stride)
    if mentions(offset, iterator):
        return None
    bound = analyzer.const_int_bound(offset)
    least, greatest = int(bound.min_value), int(bound.max_value)
    if greatest - least >= 2**31:
        return None
    return int(stride), offset, least, greatest - least + 1


def _alike(nest: AxisNest, extent: int) -> Interval:
    """Return the longest interval of indices for which a value is the same expression."""
    if not mentions(nest.value, nest.iterator):
        return 0, extent
    if extent > _MOST_INDICES:
        return 0, 0
    analyzer = nest.nest.analyzer(nest.iterator)
    best, begin, before = (0, 0), 0, None
    for index in range(extent):
        constant = tirx.IntImm(str(nest.iterator.ty.dtype), index)
        here = analyzer.simplify(at_index(nest.value, nest.iterator, constant))
        if before is None or not tvm_ffi.structural_equal(before, here):
            begin, before = index, here
        if index + 1 - begin > best[1] - best[0]:
            best = begin, index + 1
    return best


def at_index(expr: tirx.Expr, iterator: Var, index: tirx.Expr) -> tirx.Expr:
    """Substitute an index for an iterator in an expression."""
    return tvm_ffi.structural_map(expr, (Var, lambda var: index if var.same_as(iterator) else var))
