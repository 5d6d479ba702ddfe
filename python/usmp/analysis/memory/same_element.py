"""Which output may have the place of an input, whatever the order of the iterations is?

Where each iteration reads elements of an input before it writes the same elements of an output, and
no other iteration accesses them, the output may be where the input is: also if loops are parallel,
vectorized, or bound to threads, and at every size.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import tvm_ffi
from tvm import tirx
from tvm.ir import Range
from tvm.sym import Analyzer, detect_linear_equation

from usmp.analysis.memory.element_accesses import ElementAccess, ElementAccesses, ElementLoop
from usmp.tir.nodes import nodes_of


def is_in_place(accesses: ElementAccesses, dying: tirx.Var, written: tirx.Var) -> bool:
    """Whether `written` may begin at the first byte of `dying`, whose content is used by nothing
    else later.

    Parameters
    ----------
    accesses
        of the PrimFunc.
    dying, written
        two of its parameters, buffers of elements of one type.
    """
    if accesses.is_reordered or {dying, written} & accesses.pointed_to:
        return False
    if str(dying.dtype) != str(written.dtype):
        return False
    if any(len(buffer.ty.strides) for buffer in (dying, written)):
        return False
    read, wrote = (accesses.by_buffer.get(buffer, []) for buffer in (dying, written))
    if not read or not wrote:
        # Nothing is to be kept, or nothing is overwritten.
        return True
    if any(access.is_write for access in read):
        return False
    if max(each.order for each in read) > min(each.order for each in wrote):
        return False
    shared = _shared_loops([*read, *wrote])
    if not shared:
        # One part of the PrimFunc reads, a later one writes.
        return not accesses.has_threads and not _is_one_statement(read, wrote)
    return _SameElement(accesses, shared).holds(dying, read, written, wrote)


def _is_one_statement(read: Sequence[ElementAccess], wrote: Sequence[ElementAccess]) -> bool:
    """Whether loops around some of both are the same, though not around all."""
    outermost = {each.loops[0] for each in read if each.loops}
    return any(each.loops and each.loops[0] in outermost for each in wrote)


def _shared_loops(accesses: Sequence[ElementAccess]) -> list[ElementLoop]:
    levels = zip(*(access.loops for access in accesses), strict=False)
    return [level[0] for level in takewhile(lambda one: len(set(one)) == 1, levels)]


class _SameElement:
    """Compares elements that are accessed in one iteration of some loops."""

    def __init__(self, accesses: ElementAccesses, loops: Sequence[ElementLoop]) -> None:
        self.bound = accesses.bound
        self.depth = len(loops)
        self.extents: dict[tirx.Var, tirx.Expr] = {
            loop.variable: loop.extent
            for loop in loops
            if loop.variable is not None and loop.extent is not None
        }
        self.analyzer = Analyzer()
        self.inner: set[tirx.Var] = set()

    def holds(
        self,
        dying: tirx.Var,
        read: Sequence[ElementAccess],
        written: tirx.Var,
        wrote: Sequence[ElementAccess],
    ) -> bool:
        variables = list(self.extents)
        if len(variables) < self.depth:
            return False
        for variable, extent in self.extents.items():
            zero = tirx.const(0, variable.ty)
            self.analyzer.bind(variable, Range.from_min_extent(zero, extent.astype(zero.ty)))
        outside = {each.variable for access in (*read, *wrote) for each in access.loops}
        self.inner = (outside - set(variables)) | self.bound
        first = wrote[0].indices
        return (
            self.is_one_element_each(first)
            and all(self.is_same(written, first, written, each.indices) for each in wrote)
            and all(self.is_same(written, first, dying, each.indices) for each in read)
        )

    def is_same(
        self,
        one: tirx.Var,
        at: Sequence[tirx.Expr],
        other: tirx.Var,
        indices: Sequence[tirx.Expr],
    ) -> bool:
        """Whether an element of one buffer is as far from its start as one of another."""
        if self.varies(indices):
            return False
        if one.same_as(other) or tvm_ffi.structural_equal(list(one.shape), list(other.shape)):
            return all(map(self.analyzer.can_prove_equal, at, indices))
        flat = _flattened(one.shape, at), _flattened(other.shape, indices)
        return bool(self.analyzer.can_prove_equal(*flat))

    def varies(self, indices: Sequence[tirx.Expr]) -> bool:
        """Whether indices are not the same all over one iteration of the loops."""
        return any(var in self.inner for each in indices for var in nodes_of(each, tirx.Var))

    def is_one_element_each(self, indices: Sequence[tirx.Expr]) -> bool:
        """Whether no two iterations of the loops have the same indices."""
        if self.varies(indices):
            return False
        missing = {
            variable
            for variable, extent in self.extents.items()
            if not self.analyzer.can_prove(extent <= 1)
        }
        variables = list(self.extents)
        for index in indices:
            found = detect_linear_equation(self.analyzer.simplify(index), variables)
            if not len(found):
                return False
            terms = [
                (abs(int(factor)), variable)
                for variable, factor in zip(variables, found, strict=False)
                if isinstance(factor, tirx.IntImm) and int(factor)
            ]
            if any(not isinstance(factor, tirx.IntImm) for factor in found[:-1]):
                return False
            used = [variable for _, variable in terms if variable in missing]
            if not self.is_mixed_radix(
                [
                    (factor, self.extents[variable])
                    for factor, variable in terms
                    if variable in missing
                ]
            ):
                return False
            missing -= set(used)
        return not missing

    def is_mixed_radix(self, terms: Sequence[tuple[int, tirx.Expr]]) -> bool:
        """Whether sums of factors and numbers below extents differ where the numbers do."""
        reach: tirx.Expr = tirx.IntImm("int64", 0)
        for factor, extent in sorted(terms, key=lambda term: term[0]):
            if not self.analyzer.can_prove(reach < factor):
                return False
            reach = reach + (extent.astype("int64") - 1) * factor
        return True


def _flattened(shape: Sequence[tirx.Expr], indices: Sequence[tirx.Expr]) -> tirx.Expr:
    flat: tirx.Expr = tirx.IntImm("int64", 0)
    for extent, index in zip(shape, indices, strict=True):
        flat = flat * extent + index
    return flat
