"""LowerDynamicAllocations: what has no bound, and so no place in a plan, is allocated by runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import tvm
from tvm import tirx
from tvm.ir import IRModule, PrimType

from usmp.analysis.dynamic_sizes import is_dynamic, size_variables
from usmp.analysis.memory.access import item_bytes
from usmp.analysis.memory.call_graph import CallGraph
from usmp.analysis.memory.facts import ModuleFacts, module_facts
from usmp.names import ARENA
from usmp.objects.annotations import ALIGNMENT_ATTR, CANDIDATE_POOLS_ATTR, CONSTANT_DATA_ATTR
from usmp.objects.attributes import (
    BOARD_ATTR,
    DYNAMIC_ALLOCATIONS_ATTR,
    DYNAMIC_ALLOCATOR_ATTR,
    ENTRIES_ATTR,
    EXECUTOR_ATTR,
    POOL_ARGS_ATTR,
    SYMBOLIC_SIZES_ATTR,
    TAKES_ARENA_ATTR,
)
from usmp.objects.dynamic_allocation import DynamicAllocation
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.executor import Executor, executor_of
from usmp.objects.operator_attributes import EXTERN_KERNELS_ATTR
from usmp.objects.symbolic_size import symbolic_sizes
from usmp.passes import ModulePass
from usmp.planning.options import planning_options
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
    """Turn each AllocBuffer in global memory whose size only the run knows into calls.

    A buffer is allocated before the first statement of its sequence that uses it, and released
    after the last one, or when those that were allocated after it are: blocks are a stack.

        a_bytes: T.int64 = T.Cast("int64", n) * T.int64(4)
        a_block: T.handle = T.call_extern("handle", "usmp_arena_allocate", arena, a_bytes, 16)
        if T.isnullptr(a_block):
            return -3
        a = T.decl_buffer((n,), "int32", data=a_block)
        ...
        T.call_extern("int32", "usmp_arena_release", arena, a_block)

    A PrimFunc that does so, or calls one that does, returns an int32: 0, or the status that ended
    it, after all that it allocated was released. Its callers do the same. With an arena, all of
    them take it as a parameter, behind their own and before the pools. What allocates is the option
    `tir.usmp.dynamic_allocator` of the PassContext. To come after planning: an allocation whose
    size has a bound is a view of a pool then, and stays one. RFC 0009, "The dynamically sized
    allocates will remain untouched".

    The attributes `dynamic_allocations` and `dynamic_allocator` of the module say what was
    allocated by what. A module without such allocations is returned as it is.

    Raises
    ------
    ValueError
        an allocation in a loop whose iterations may run at the same time; one whose size cannot be
        computed; a PrimFunc that allocates, or calls one that does, and returns something already,
        or is called in an expression; one that has the name of an allocator; a module for a board,
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
        found = _allocations(mod, facts)
        if not found:
            return mod
        _check_target(mod, found[0])
        _check_names(facts.graph)
        kind = planning_options(context.config).dynamic_allocator
        mains = {entry_function_name(entry) for entry in entries_of(mod)}
        functions = _with_callers(facts.graph, {str(one.function) for one in found})
        _check_results(facts.graph, functions, mains)
        lowered = IRModule(mod.functions, attrs=mod.attrs)
        for name in functions:
            func = _lowered(facts, name, functions, kind, executor_of(mod))
            lowered.update_func(mod.get_global_var(name), func)
        lowered = DYNAMIC_ALLOCATIONS_ATTR.put(lowered, found)
        return DYNAMIC_ALLOCATOR_ATTR.put(lowered, kind)


def _allocations(mod: IRModule, facts: ModuleFacts) -> list[DynamicAllocation]:
    """All of them, in an order that is the same on all machines."""
    mains = [entry_function_name(entry) for entry in entries_of(mod)]
    sizes = [
        s for name in mains if name in facts.graph.functions for s in symbolic_sizes(mod[name])
    ]
    unbounded = {str(size.name) for size in sizes if size.upper_bound is None}
    found = []
    for name in sorted(facts.graph.functions):
        for stmt in nodes_of(facts.graph.functions[name].body, tirx.AllocBuffer):
            if is_dynamic(stmt):
                why = _why([str(var.name) for var in size_variables(stmt.buffer)], unbounded)
                found.append(DynamicAllocation(str(stmt.buffer.name), name, _text(stmt), why))
    return found


def _why(sizes: Sequence[str], unbounded: Collection[str]) -> str:
    """Why no plan has an allocation whose size depends on these variables."""
    known = [name for name in sizes if name in unbounded]
    if known:
        has, bounds = "have" if len(known) > 1 else "has", " ".join(f"--max {n}=N" for n in known)
        return f"{' and '.join(known)} {has} no upper bound; give {bounds} to plan it"
    if sizes:
        return f"it depends on {' and '.join(sizes)}, which only the run knows"
    return "it depends on what memory holds during the run"


def _text(stmt: tirx.AllocBuffer) -> str:
    """The bytes of a buffer, for people."""
    size = item_bytes(str(stmt.buffer.dtype))
    extents = [
        f"({e})" if isinstance(e, tirx.Add | tirx.Sub) else str(e) for e in stmt.buffer.shape
    ]
    return " * ".join([*([str(size)] if size > 1 else []), *extents])


def _check_target(mod: IRModule, first: DynamicAllocation) -> None:
    """Refuse what has no way to be given the memory."""
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
    """Refuse PrimFuncs that calls of the allocator would mean."""
    for name, func in graph.functions.items():
        taken = {name, global_symbol(func)} & set(ALLOCATOR_FUNCTIONS)
        if taken:
            raise ValueError(
                f"{taken.pop()} allocates memory of dynamic size, so that no PrimFunc can have "
                "that name; rename it"
            )


def _with_callers(graph: CallGraph, functions: set[str]) -> list[str]:
    """These PrimFuncs and all that call them, to any depth."""
    found, pending = set(functions), list(functions)
    while pending:
        new = set(graph.callers[pending.pop()]) - found
        found |= new
        pending += new
    return sorted(found)


def _check_results(graph: CallGraph, functions: list[str], mains: set[str]) -> None:
    """Refuse PrimFuncs that have no room for a status: the result of an entry is one."""
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
    """A PrimFunc with calls in the place of allocations."""
    known = facts.of(name)
    func = known.func
    arena = arena_parameter() if kind == ARENA else None
    allocations = StackAllocations(known, functions, DynamicAllocator(kind, arena), executor)
    pools = len(POOL_ARGS_ATTR.of(func) or ())
    own, last = func.params[: len(func.params) - pools], func.params[len(func.params) - pools :]
    params = [*own, *([] if arena is None else [arena]), *last]
    lowered = tirx.PrimFunc(params, allocations.body(), PrimType("int32"), func.attrs)
    return lowered if arena is None else TAKES_ARENA_ATTR.put(lowered, True)
