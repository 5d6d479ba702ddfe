"""LowerDynamicAllocations: allocate buffers without an upper bound at run time."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import tvm
from tvm import tirx
from tvm.ir import IRModule, PrimType

from usmp.analysis.dynamic.sizes import is_dynamic, size_variables
from usmp.analysis.memory.call_graph import CallGraph
from usmp.analysis.memory.facts import ModuleFacts, module_facts
from usmp.names import ARENA
from usmp.objects.arguments.executor import Executor, executor_of
from usmp.objects.attributes.annotations import (
    ALIGNMENT_ATTR,
    CANDIDATE_POOLS_ATTR,
    CONSTANT_DATA_ATTR,
)
from usmp.objects.attributes.module_attributes import (
    BOARD_ATTR,
    DYNAMIC_ALLOCATIONS_ATTR,
    DYNAMIC_ALLOCATOR_ATTR,
    ENTRIES_ATTR,
    EXECUTOR_ATTR,
    POOL_ARGS_ATTR,
    SYMBOLIC_SIZES_ATTR,
    TAKES_ARENA_ATTR,
)
from usmp.objects.attributes.operator_attributes import EXTERN_KERNELS_ATTR
from usmp.objects.dynamic_allocation import DynamicAllocation
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.symbolic_size import symbolic_sizes
from usmp.passes import ModulePass
from usmp.planning.options import planning_options
from usmp.support.reachable import reachable
from usmp.tir.dtypes import item_bytes
from usmp.tir.dynamic_allocator import (
    ALLOCATOR_FUNCTIONS,
    DynamicAllocator,
    arena_parameter,
)
from usmp.tir.global_symbol import global_symbol
from usmp.tir.nodes import nodes_of
from usmp.transform.stack_allocations import StackAllocations


@tvm.transform.module_pass(opt_level=0, name="usmp.LowerDynamicAllocations")
class LowerDynamicAllocations(ModulePass):
    """Turn each AllocBuffer in global memory of a size that only the run knows into calls.

    A buffer is allocated before the first statement of its sequence that uses it. It is released
    after the last such statement, and after all later blocks, because blocks are a stack.

        a_bytes: T.int64 = T.Cast("int64", n) * T.int64(4)
        a_block: T.handle = T.call_extern("handle", "usmp_arena_allocate", arena, a_bytes, 16)
        if T.isnullptr(a_block):
            return -3
        a = T.decl_buffer((n,), "int32", data=a_block)
        ...
        T.call_extern("int32", "usmp_arena_release", arena, a_block)

    A PrimFunc that allocates, or calls such a PrimFunc, returns an int32: 0, or an error status
    after it has released all its blocks. Its callers do the same. An arena is a parameter of all
    these PrimFuncs, after their own parameters and before the pools. The option `tir.usmp.dynamic`
    of the PassContext may name another allocator. Run the pass after
    planning, because only allocations without an upper bound remain then: they "will remain
    untouched" in planning (TVM's RFC 0009).

    The attributes `dynamic_allocations` and `dynamic_allocator` of the module list the allocations
    and the allocator. A module without such allocations is returned unchanged.

    Raises
    ------
    ValueError
        an allocation is in a loop whose iterations may run at the same time, or has a size that
        cannot be computed; a PrimFunc that allocates, or calls one that does, returns a value or is
        called in an expression; a PrimFunc has the name of an allocator; the module is for a board,
        with a packed interface, or for another target than C.
    """

    reads = (
        *(BOARD_ATTR, EXECUTOR_ATTR, ENTRIES_ATTR, SYMBOLIC_SIZES_ATTR, POOL_ARGS_ATTR),
        *(CANDIDATE_POOLS_ATTR, CONSTANT_DATA_ATTR, ALIGNMENT_ATTR, EXTERN_KERNELS_ATTR),
    )
    writes = (DYNAMIC_ALLOCATIONS_ATTR, DYNAMIC_ALLOCATOR_ATTR, TAKES_ARENA_ATTR)

    def transform_module(self, mod: IRModule, context: tvm.transform.PassContext) -> IRModule:
        """Rewrite the PrimFuncs that allocate, and those that call them."""
        facts = module_facts(mod)
        allocations = _allocations(mod, facts)
        if not allocations:
            return mod
        _check_target(mod, allocations[0])
        _check_names(facts.graph)
        kind = planning_options(context).dynamic_allocator
        mains = {entry_function_name(entry) for entry in entries_of(mod)}
        allocating = (str(allocation.function) for allocation in allocations)
        functions = sorted(reachable(allocating, facts.graph.callers.__getitem__))
        _check_results(facts.graph, functions, mains)
        lowered = IRModule(mod.functions, attrs=mod.attrs)
        for name in functions:
            func = _lowered(facts, name, functions, kind, executor_of(mod))
            lowered.update_func(mod.get_global_var(name), func)
        lowered = DYNAMIC_ALLOCATIONS_ATTR.put(lowered, allocations)
        return DYNAMIC_ALLOCATOR_ATTR.put(lowered, kind)


def _allocations(mod: IRModule, facts: ModuleFacts) -> list[DynamicAllocation]:
    """Return the allocations of dynamic size, in an order that is the same on all machines."""
    mains = [entry_function_name(entry) for entry in entries_of(mod)]
    sizes = [
        s for name in mains if name in facts.graph.functions for s in symbolic_sizes(mod[name])
    ]
    unbounded = {str(size.name) for size in sizes if size.upper_bound is None}
    allocations = []
    for name in sorted(facts.graph.functions):
        for stmt in nodes_of(facts.graph.functions[name].body, tirx.AllocBuffer):
            if is_dynamic(stmt):
                why = _why([str(var.name) for var in size_variables(stmt.buffer)], unbounded)
                allocations.append(DynamicAllocation(str(stmt.buffer.name), name, _text(stmt), why))
    return allocations


def _why(sizes: Sequence[str], unbounded: Collection[str]) -> str:
    """Return why no plan has an allocation whose size depends on these variables."""
    known = [name for name in sizes if name in unbounded]
    if known:
        has, bounds = "have" if len(known) > 1 else "has", " ".join(f"--max {n}=N" for n in known)
        return f"{' and '.join(known)} {has} no upper bound; give {bounds} to plan it"
    if sizes:
        return f"it depends on {' and '.join(sizes)}, which only the run knows"
    return "it depends on what memory holds during the run"


def _text(stmt: tirx.AllocBuffer) -> str:
    """Return the bytes of a buffer as text for users."""
    size = item_bytes(str(stmt.buffer.dtype))
    extents = [
        f"({e})" if isinstance(e, tirx.Add | tirx.Sub) else str(e) for e in stmt.buffer.shape
    ]
    return " * ".join([*([str(size)] if size > 1 else []), *extents])


def _check_target(mod: IRModule, first: DynamicAllocation) -> None:
    """Refuse a module whose target or interface has no way to pass an allocator."""
    has_target = (mod[str(first.function)].attrs or {}).get("target")
    kind = "c" if has_target is None else str(has_target.kind.name)
    if kind != "c":
        reason, advice = f"code for target {kind} allocates nothing while it runs", "--target=c"
    elif executor_of(mod).is_packed:
        reason = "the packed interface passes no arena"
        advice = "--executor-aot-interface-api=c"
    elif BOARD_ATTR.is_on(mod):
        reason = "the programs for boards give runs no memory"
        advice = "no --board, and a program of your own"
    else:
        return
    raise ValueError(
        f"the size of {first.name} in {first.function} ({first.size} bytes) is not bounded: "
        f"{first.why}; but {reason}: use {advice}, or bounds"
    )


def _check_names(graph: CallGraph) -> None:
    """Refuse PrimFuncs that have the name of an allocator function."""
    for name, func in graph.functions.items():
        reserved = {name, global_symbol(func)} & set(ALLOCATOR_FUNCTIONS)
        if reserved:
            raise ValueError(
                f"{reserved.pop()} allocates memory of dynamic size, so that no PrimFunc can have "
                "that name; rename it"
            )


def _check_results(graph: CallGraph, functions: list[str], mains: set[str]) -> None:
    """Refuse PrimFuncs with a result, because they must return a status, as entries do."""
    for name in functions:
        result = str(getattr(graph.functions[name].ret_type, "dtype", "void"))
        if result not in ("", "void") and not (name in mains and result == "int32"):
            raise ValueError(
                f"{name} returns {result}, but it allocates memory of dynamic size, which may "
                "fail, so that it has to return a status; let it write its result to a buffer"
            )


def _lowered(
    facts: ModuleFacts, name: str, functions: list[str], kind: str, executor: Executor
) -> tirx.PrimFunc:
    """Return a PrimFunc with calls in place of allocations."""
    known = facts.of(name)
    func = known.func
    arena = arena_parameter() if kind == ARENA else None
    allocations = StackAllocations(known, functions, DynamicAllocator(kind, arena), executor)
    pools = len(POOL_ARGS_ATTR.of(func) or ())
    own, last = func.params[: len(func.params) - pools], func.params[len(func.params) - pools :]
    params = [*own, *([] if arena is None else [arena]), *last]
    lowered = tirx.PrimFunc(params, allocations.body(), PrimType("int32"), func.attrs)
    return lowered if arena is None else TAKES_ARENA_ATTR.put(lowered, True)
