"""Safe overlaps of an operator's outputs with dying inputs, from its TIR.

PrimFuncs of TVM's flow have blocks, scheduled or not. A copy is lowered to loops, and analyzed like
the operators of AoT modules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import tvm
from tvm import s_tir, tirx
from tvm.ir import IRModule
from tvm_ffi import structural_equal

from usmp.analysis.memory.distances.safe_distance import SafeOverlap
from usmp.analysis.memory.distances.same_element import is_in_place
from usmp.analysis.memory.element_accesses import ElementAccesses, element_accesses
from usmp.analysis.memory.facts import safe_overlap
from usmp.relax.storage.tensor_bytes import ALIGNMENT
from usmp.tir.nodes import nodes_of
from usmp.transform.lower_to_flat_tir import NARROW_INDICES, TO_LOOPS

_NAME = "operator"

_TO_ELEMENTS = tvm.transform.Sequential(
    [
        TO_LOOPS,
        s_tir.transform.CompactBufferAllocation(),
        s_tir.transform.LowerMatchBuffer(),
        s_tir.transform.StmtSimplify(),
        s_tir.transform.LowerOpaqueBlock(),
    ],
    name="usmp.LowerToElements",
)
"""Lowers to loops around accesses of multidimensional buffers."""

_TO_BYTES = tvm.transform.Sequential(
    [tirx.transform.FlattenBuffer(), NARROW_INDICES], name="usmp.LowerToBytes"
)
"""Lowers further to flat buffers."""


@dataclass(frozen=True)
class OperatorOverlap:
    """An allowed overlap of an output with an input that dies.

    Parameters
    ----------
    distance
        smallest number of bytes by which the output must start below the input.
    is_exact
        whether an output that shares bytes must start at the first byte of the input.
    is_accumulated
        whether the operator reads the output, too. Compilers keep its sums in registers only if
        they know that no input aliases them.
    """

    distance: int
    is_exact: bool
    is_accumulated: bool = False


_REORDERS = (
    "auto_copy",
    "double_buffer_scope",
    "permuted_layout",
    "software_pipeline",
    "tir.manifest_shared_memory_local_stage",
    "warp_execution",
)
"""Prefixes of annotations that let TVM's passes move statements of a block."""


class OperatorMemory:
    """Facts on the buffers of a PrimFunc, which are computed on first use.

    Parameters
    ----------
    func
        the PrimFunc.
    is_called_by_others
        whether other PrimFuncs call it, so that its signature must stay as it is.
    """

    def __init__(self, func: tirx.PrimFunc, is_called_by_others: bool = False) -> None:
        self.func = func
        self._is_fixed = is_called_by_others
        self._takes: dict[int, bool] = {}
        self._found: dict[tuple[int, int], OperatorOverlap | None] = {}
        self._flat: _Flat | None = None

    def takes_offset(self, index: int) -> bool:
        """Return whether the PrimFunc accesses a parameter only element by element, so that the
        buffer may begin at an offset from its pointer."""
        if index not in self._takes:
            self._takes[index] = self._is_by_elements(index)
        return self._takes[index]

    def _is_by_elements(self, index: int) -> bool:
        if self._is_fixed or self._elements is None or index >= len(self.func.params):
            return False
        param = self.func.params[index]
        return (
            tirx.is_buffer_var(param)
            and not len(param.ty.strides)
            and param.scope() in ("", "global")
            # A nonzero elem_offset may mean more to the caller.
            and isinstance(param.ty.elem_offset, tirx.IntImm)
            and int(param.ty.elem_offset) == 0
            and int(param.ty.data_alignment) <= ALIGNMENT
            and self._elements.params[index] not in self._elements.accesses.pointed_to
            and param not in self._matched
        )

    @cached_property
    def _matched(self) -> set[tirx.Var]:
        """Buffers of which blocks match sub-buffers, because these have offsets of their own."""
        return {
            region.source.source
            for block in nodes_of(self.func.body, s_tir.SBlock)
            for region in block.match_buffers
        }

    def overlap(self, dying: int, written: int) -> OperatorOverlap | None:
        """Return how the buffer `written` may overlap the buffer `dying`, or None if it may not.

        Parameters
        ----------
        dying, written
            indices of parameters that are buffers.
        """
        pair = dying, written
        if pair not in self._found:
            self._found[pair] = self._find(dying, written)
        return self._found[pair]

    def _find(self, dying: int, written: int) -> OperatorOverlap | None:
        if self._elements is None or not all(map(self.takes_offset, (dying, written))):
            return None
        params, accesses = self._elements.params, self._elements.accesses
        if accesses.is_reordered or params[dying] in accesses.read_again:
            return None
        if str(params[dying].dtype) != str(params[written].dtype):
            return None
        if accesses.is_serial and all(map(_is_static, (params[dying], params[written]))):
            if self._flat is None:
                self._flat = _read_flat(self._elements.func)
            if self._flat.overlap is not None:
                is_read = any(
                    not access.is_write for access in accesses.by_buffer.get(params[written], ())
                )
                return _in_order(self._flat, dying, written, is_read)
        is_one_shape = structural_equal(list(params[dying].shape), list(params[written].shape))
        # Only one of the two parameters remains, and has to determine the sizes of both. Besides,
        # GPU kernels get a view of another shape as a separate pointer that is marked noalias.
        may_share = is_one_shape or (
            not accesses.has_threads and all(map(_is_static, (params[dying], params[written])))
        )
        if may_share and is_in_place(accesses, params[dying], params[written]):
            return OperatorOverlap(0, is_exact=True)
        return None

    @cached_property
    def _elements(self) -> _Elements | None:
        return _read_elements(self.func)


@dataclass(frozen=True)
class _Elements:
    func: tirx.PrimFunc
    params: list[tirx.Var]
    accesses: ElementAccesses


@dataclass(frozen=True)
class _Flat:
    params: list[tirx.Var] = field(default_factory=list)
    overlap: SafeOverlap | None = None


def _read_elements(func: tirx.PrimFunc) -> _Elements | None:
    try:
        lowered = _lowered(func, _TO_ELEMENTS)
        accesses = element_accesses(lowered)
    except (ValueError, RuntimeError, TypeError):
        # TVM cannot lower it, or the analysis does not support it.
        return None
    accesses.is_reordered |= any(
        str(key).startswith(_REORDERS)
        for block in nodes_of(func.body, s_tir.SBlock)
        for key in block.annotations
    )
    return _Elements(lowered, list(lowered.params), accesses)


def _read_flat(func: tirx.PrimFunc) -> _Flat:
    try:
        lowered = _lowered(func, _TO_BYTES)
        return _Flat(list(lowered.params), safe_overlap(lowered))
    except (ValueError, RuntimeError, TypeError):
        return _Flat()


def _lowered(func: tirx.PrimFunc, passes: tvm.transform.Pass) -> tirx.PrimFunc:
    return passes(IRModule({_NAME: func}))[_NAME]


def _is_static(buffer: tirx.Var) -> bool:
    return all(isinstance(extent, tirx.IntImm) for extent in buffer.shape)


def _in_order(flat: _Flat, dying: int, written: int, is_read: bool) -> OperatorOverlap:
    """Return the overlap that the order of accesses allows, byte by byte."""
    assert flat.overlap is not None
    distance = flat.overlap.distance(flat.params[dying], flat.params[written])
    return OperatorOverlap(distance, is_exact=False, is_accumulated=is_read)
