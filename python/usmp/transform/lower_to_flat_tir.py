"""LowerToFlatTIR: lower blocks to loops over flat buffers, which the planner needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tvm
from tvm import s_tir, tirx
from tvm.ir import GlobalVar, IRModule, TensorLoad
from tvm.tirx.analysis import undefined_vars

from usmp.passes import ModulePass
from usmp.tir.identity import identity
from usmp.tir.nodes import nodes_of
from usmp.transform.simplify_integers import SimplifyIntegers

TO_LOOPS = tvm.transform.Sequential(
    [
        s_tir.transform.CanonicalizeLoop(),
        s_tir.transform.LowerInitBlock(),
        s_tir.transform.PlanAndUpdateBufferAllocationLocation(),
        s_tir.transform.ConvertBlocksToOpaque(),
    ],
    name="usmp.OperatorsToLoops",
)
"""TVM's passes to blocks without variables of their own, without any simplification."""

_COMPACT = s_tir.transform.CompactBufferAllocation()


@tvm.transform.module_pass(opt_level=0, name="usmp.CompactAllocations")
class CompactAllocations(ModulePass):
    """Shrink buffers that are produced inside their consumer's loops to the part in use.

    The pass is TVM's CompactBufferAllocation, but skips kernels without blocks in which constant
    indices reach both ends of all allocations: their buffers cannot shrink, and the analysis takes
    long if they test for padding.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite the PrimFuncs that are not skipped, all at once."""
        compacted = _COMPACT(IRModule(_prim_funcs(mod, _can_shrink)))
        return IRModule({**mod.functions, **compacted.functions}, attrs=mod.attrs)


FLATTEN_BUFFERS = tvm.transform.Sequential(
    [
        CompactAllocations(),
        s_tir.transform.LowerMatchBuffer(),
        SimplifyIntegers(s_tir.transform.StmtSimplify()),
        s_tir.transform.LowerOpaqueBlock(),
        tirx.transform.FlattenBuffer(),
    ],
    name="usmp.FlattenOperators",
)
"""TVM's passes from blocks to loops over buffers of one dimension."""

NARROW_INDICES = tvm.transform.Sequential(
    [
        # Indices have 32 bits, because microcontrollers compute with 32 bits.
        tirx.transform.NarrowDataType(32),
        SimplifyIntegers(tirx.transform.StmtSimplify()),
        tirx.transform.RemoveNoOp(),
        s_tir.transform.RewriteUnsafeSelect(),
    ],
    name="usmp.NarrowIndices",
)
"""TVM's passes that simplify flat loops and make their indices narrow."""

FLATTEN = tvm.transform.Sequential([TO_LOOPS, FLATTEN_BUFFERS, NARROW_INDICES], name="usmp.Flatten")
"""The passes above in a working order, for PrimFuncs that pass no whole buffer to a call."""


@tvm.transform.module_pass(opt_level=0, name="usmp.LowerToFlatTIR")
class LowerToFlatTIR(ModulePass):
    """Lower each PrimFunc that has blocks (S-TIR: `T.sblock`, schedules) to flat TIR.

    `UnifiedStaticMemoryPlanner` plans flat TIR: loops and accesses without blocks, and buffers of
    one dimension. Parameters keep their shapes. A PrimFunc without blocks, as `__tvm_main__` mostly
    is, stays as it is.

    Raises
    ------
    ValueError
        a PrimFunc with blocks passes a whole buffer of several dimensions to a call, which
        TVM cannot flatten.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Lower PrimFuncs with blocks, all at once."""
        lowered = IRModule(mod.functions, attrs=mod.attrs)
        for variable, func in FLATTEN(IRModule(_prim_funcs(mod, _has_blocks))).functions.items():
            _check_no_buffer_is_lost(func, str(variable.name_hint))
            lowered.update_func(mod.get_global_var(variable.name_hint), func)
        return lowered


def _prim_funcs(
    mod: IRModule, chosen: Callable[[tirx.PrimFunc], bool]
) -> dict[GlobalVar, tirx.PrimFunc]:
    return {
        variable: func
        for variable, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc) and chosen(func)
    }


def _has_blocks(func: tirx.PrimFunc) -> bool:
    return bool(nodes_of(func.body, s_tir.SBlock))


def _can_shrink(func: tirx.PrimFunc) -> bool:
    """Return whether an allocation may be larger than its accessed part."""
    loads, stores = nodes_of(func.body, TensorLoad), nodes_of(func.body, tirx.BufferStore)
    accesses = [(a.source, a.indices) for a in loads] + [(a.buffer, a.indices) for a in stores]
    reached = {(identity(buffer), _constants(indices)) for buffer, indices in accesses}
    for allocation in nodes_of(func.body, tirx.AllocBuffer):
        buffer, shape = allocation.buffer, _constants(allocation.buffer.shape)
        ends = [] if shape is None else [(0,) * len(shape), tuple(size - 1 for size in shape)]
        if not ends or any((identity(buffer), end) not in reached for end in ends):
            return True
    return _has_blocks(func)


def _constants(expressions: Sequence[tirx.Expr]) -> tuple[int, ...] | None:
    values = [int(e) for e in expressions if isinstance(e, tirx.IntImm)]
    return tuple(values) if len(values) == len(expressions) else None


def _check_no_buffer_is_lost(func: tirx.PrimFunc, name: str) -> None:
    lost = undefined_vars(func.body, list(func.params))
    if lost:
        raise ValueError(
            f"{name}: buffer {lost[0].name} is passed to a call as a whole, and TVM cannot flatten "
            "it there; give it one dimension, or let the call stand in a PrimFunc without blocks"
        )
