"""In-place outputs for any order of iterations.

An output may be in place of an input if each iteration reads elements of the input before it writes
the same elements of the output, and no other iteration accesses these elements. This holds for
parallel, vectorized and thread-bound loops too, and for all sizes.
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
    """Return whether `written` may be in place of `dying`, whose content is not used later.

    Parameters
    ----------
    accesses
        the accesses of the PrimFunc.
    dying, written
        two of its buffer parameters.
    """
    if accesses.is_reordered or {dying, written} & accesses.pointed_to:
        return False
    if str(dying.dtype) != str(written.dtype):
        return False
    if any(len(buffer.ty.strides) for buffer in (dying, written)):
        return False
    read, wrote = (accesses.by_buffer.get(buffer, []) for buffer in (dying, written))
    if not read or not wrote:
        # Without accesses to `dying`, no content is needed; without any to `written`, none is lost.
        return True
    if any(access.is_write for access in read):
        return False
    if max(access.order for access in read) > min(access.order for access in wrote):
        return False
    shared = _shared_loops([*read, *wrote])
    if not shared:
        # Reads must be in earlier outermost loops than writes, and no threads may run them at once.
        return not accesses.has_threads and not _is_one_statement(read, wrote)
    return _SameElement(accesses, shared).holds(dying, read, written, wrote)


def _is_one_statement(read: Sequence[ElementAccess], wrote: Sequence[ElementAccess]) -> bool:
    """Return whether an outermost loop has both reads and writes."""
    outermost = {access.loops[0] for access in read if access.loops}
    return any(access.loops and access.loops[0] in outermost for access in wrote)


def _shared_loops(accesses: Sequence[ElementAccess]) -> list[ElementLoop]:
    levels = zip(*(access.loops for access in accesses), strict=False)
    return [level[0] for level in takewhile(lambda loops: len(set(loops)) == 1, levels)]


class _SameElement:
    """A comparison of the elements that are accessed in one iteration of some loops."""

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
        outside = {loop.variable for access in (*read, *wrote) for loop in access.loops}
        self.inner = (outside - set(variables)) | self.bound
        first = wrote[0].indices
        return (
            self.is_one_element_each(first)
            and all(self.is_same(written, first, written, access.indices) for access in wrote)
            and all(self.is_same(written, first, dying, access.indices) for access in read)
        )

    def is_same(
        self,
        buffer: tirx.Var,
        element: Sequence[tirx.Expr],
        other: tirx.Var,
        indices: Sequence[tirx.Expr],
    ) -> bool:
        """Return whether elements of two buffers have the same offset from the start."""
        if self.varies(indices):
            return False
        if buffer.same_as(other) or tvm_ffi.structural_equal(list(buffer.shape), list(other.shape)):
            return all(map(self.analyzer.can_prove_equal, element, indices))
        flat = _flattened(buffer.shape, element), _flattened(other.shape, indices)
        return bool(self.analyzer.can_prove_equal(*flat))

    def varies(self, indices: Sequence[tirx.Expr]) -> bool:
        """Return whether indices may change within one iteration of the loops."""
        return any(var in self.inner for index in indices for var in nodes_of(index, tirx.Var))

    def is_one_element_each(self, indices: Sequence[tirx.Expr]) -> bool:
        """Return whether no two iterations of the loops have the same indices."""
        if self.varies(indices):
            return False
        missing = {
            variable
            for variable, extent in self.extents.items()
            if not self.analyzer.can_prove(extent <= 1)
        }
        variables = list(self.extents)
        for index in indices:
            factors = detect_linear_equation(self.analyzer.simplify(index), variables)
            if not len(factors):
                return False
            terms = [
                (abs(int(factor)), variable)
                for variable, factor in zip(variables, factors, strict=False)
                if isinstance(factor, tirx.IntImm) and int(factor)
            ]
            if any(not isinstance(factor, tirx.IntImm) for factor in factors[:-1]):
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
        """Return whether sums of factors times digits (below the extents) are all different."""
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
