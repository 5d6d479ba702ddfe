"""Storage planning for all Relax functions of a module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule

from usmp.analysis.memory.facts import shared_facts
from usmp.analysis.relax_functions.function_memory import (
    FunctionMemory,
    ManagedTensor,
    device_index_of,
    scope_of,
)
from usmp.analysis.relax_functions.read_function import read_function
from usmp.objects.attributes.module_attributes import UPPER_BOUNDS_ATTR
from usmp.relax.storage.allocated_bytes import allocations_of
from usmp.relax.storage.bound_storages import storages_are_bound
from usmp.relax.storage.function_plan import (
    FunctionPlan,
    Solve,
    placed_tensors,
    plan_function,
    possible_overlaps,
)
from usmp.relax.storage.module_rewrite import FunctionRewriter, with_offsets
from usmp.relax.storage.operator_memory import OperatorMemory
from usmp.relax.storage.storage_plan import (
    STORAGE_PLAN_ATTR,
    FunctionStorage,
    MemoryStorage,
)
from usmp.relax.storage.tensor_bytes import SizeBounds
from usmp.tir.nodes import nodes_of

Planned = dict[str, tuple[FunctionMemory, FunctionPlan]]


@dataclass(frozen=True)
class StorageOptions:
    """Options of the planner.

    Parameters
    ----------
    solve
        places the buffers of a problem.
    overlap
        whether outputs may overlap inputs that die.
    require_bounds
        whether a tensor of unbounded size is an error.
    """

    solve: Solve
    overlap: bool = True
    require_bounds: bool = False


def plan_module(mod: IRModule, options: StorageOptions) -> IRModule:
    """Plan one storage for each function and memory, and leave the other tensors to TVM's
    `StaticPlanBlockMemory`.

    No function allocates more bytes than with TVM's pass, unless TVM's plan cannot run.

    Raises
    ------
    ValueError
        a bound is invalid, or a required one is missing.
    """
    # Checked before TVM's pass, which accepts bounds below 1. Planned functions stay as they are.
    bounds = {
        name: SizeBounds(name, mod[name])
        for name in _relax_functions(mod)
        if not STORAGE_PLAN_ATTR.is_on(mod[name])
    }
    by_tvm = relax.transform.StaticPlanBlockMemory()(mod)
    with shared_facts():
        planned = _plan_functions(mod, bounds, options)
    rewritten = _rewritten(mod, planned, bounds)
    by_both = relax.transform.StaticPlanBlockMemory()(rewritten)
    for name in planned:
        ours, tvms = by_both[name], by_tvm[name]
        if not storages_are_bound(ours):
            ours = rewritten[name]
        is_better = allocations_of(ours).bytes <= allocations_of(tvms).bytes or (
            not storages_are_bound(tvms)
        )
        chosen = ours if is_better else tvms
        function = STORAGE_PLAN_ATTR.put(chosen, _facts(name, *planned[name], chosen, is_better))
        by_both.update_func(by_both.get_global_var(name), function)
    return _without_unused(by_both, mod)


def _plan_functions(
    mod: IRModule, bounds_of: Mapping[str, SizeBounds], options: StorageOptions
) -> Planned:
    operators = _Operators(mod)
    planned: Planned = {}
    for name, bounds in bounds_of.items():
        memory = read_function(mod, name, _Placeable(mod).is_placeable)
        if options.require_bounds:
            _check_bounds(name, memory, bounds)
        sizes = placed_tensors(memory, bounds, operators)
        overlaps = possible_overlaps(memory, sizes, operators) if options.overlap else []
        planned[name] = memory, plan_function(memory, sizes, overlaps, options.solve)
    return planned


def _relax_functions(mod: IRModule) -> list[str]:
    return sorted(
        str(variable.name_hint)
        for variable, function in mod.functions.items()
        if isinstance(function, relax.Function)
    )


class _Operators(dict[str, OperatorMemory]):
    """Memory facts on each PrimFunc of a module, shared by equal PrimFuncs."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__()
        self._mod = mod
        self._alike: dict[int, list[OperatorMemory]] = {}
        # PrimFuncs pass pointers to each other, without offsets.
        self._called_by_others = _called(
            IRModule({v: f for v, f in mod.functions.items() if isinstance(f, tirx.PrimFunc)})
        )

    def __missing__(self, name: str) -> OperatorMemory:
        func = self._mod[name]
        if name in self._called_by_others:
            self[name] = OperatorMemory(func, is_called_by_others=True)
            return self[name]
        alike = self._alike.setdefault(tvm_ffi.structural_hash(func), [])
        for known in alike:
            if tvm_ffi.structural_equal(known.func, func):
                self[name] = known
                return known
        alike.append(OperatorMemory(func))
        self[name] = alike[-1]
        return self[name]


class _Placeable:
    """The memory scopes of the devices of a module."""

    def __init__(self, mod: IRModule) -> None:
        self._scopes = [str(device.memory_scope) for device in mod.global_infos.get("vdevice", [])]

    def is_placeable(self, allocation: Call) -> bool:
        """Return whether a tensor is allocated in flat memory of a known device."""
        index = device_index_of(allocation)
        if index < 0:
            return False
        scope = self._scopes[index] if index < len(self._scopes) else "global"
        return scope_of(allocation) == scope == "global"


def _check_bounds(name: str, memory: FunctionMemory, bounds: SizeBounds) -> None:
    for tensor in memory.tensors:
        if tensor.is_output or bounds.bytes_of(tensor) is not None:
            continue
        raise ValueError(_no_bound(name, tensor, bounds))


def _no_bound(name: str, tensor: ManagedTensor, bounds: SizeBounds) -> str:
    sizes = bounds.unbounded(tensor)
    problem = f"the size of {tensor.name}, of shape {tensor.shape}, has no bound"
    if not sizes:
        return f"{name}: {problem}: it is no expression of sizes; leave require_bounds off"
    several = ", ".join(f'"{size}"' for size in sizes)
    known = {**bounds.upper, **dict.fromkeys(sizes, 1024)}
    entries = ", ".join(f'"{size}": {bound}' for size, bound in known.items())
    return (
        f"{name}: {problem}, since {several} has none; write the largest, as "
        f'R.func_attr({{"{UPPER_BOUNDS_ATTR}": {{{entries}}}}}). For a size that is not in the '
        "signature of the function there is no bound: leave require_bounds off"
    )


def _rewritten(mod: IRModule, planned: Planned, bounds: Mapping[str, SizeBounds]) -> IRModule:
    mod = with_offsets(mod, planned)
    rewriter = FunctionRewriter(mod)
    functions = {}
    for name, (memory, plan) in planned.items():
        sizes = bounds[name].used_by(memory.tensors[number] for number in plan.sizes)
        functions[name] = rewriter.rewrite(name, memory, plan, sizes)
    mod = rewriter.mod
    for name, function in functions.items():
        mod.update_func(mod.get_global_var(name), function)
    return mod


def _facts(
    name: str,
    memory: FunctionMemory,
    plan: FunctionPlan,
    function: relax.Function,
    is_better: bool,
) -> FunctionStorage:
    storages = tuple(
        MemoryStorage(
            where.device_index,
            where.scope,
            one.bytes,
            one.lower_bound,
            one.is_optimal,
            len(one.offsets),
            len(plan.in_place.intersection(one.offsets)),
        )
        for where, one in plan.plans.items()
        if is_better
    )
    allocations = allocations_of(function)
    outputs = {
        variable for variable, number in memory.numbers.items() if memory.tensors[number].is_output
    }
    others = [size for variable, size in allocations.tensors.items() if variable not in outputs]
    others += list(allocations.storages.values())
    output_bytes = sum(size or 0 for var, size in allocations.tensors.items() if var in outputs)
    ours = sum(storage.bytes for storage in storages)
    return FunctionStorage(
        name,
        storages,
        sum(size or 0 for size in others) - ours,
        len(others) - len(storages),
        output_bytes,
        needs_less_by_tvm=not is_better,
    )


def _without_unused(mod: IRModule, before: IRModule) -> IRModule:
    """Remove private PrimFuncs that lost their last caller, and new ones without a caller."""
    used_before, used = _called(before), _called(mod)
    known = {str(variable.name_hint) for variable in before.functions}
    for variable, func in list(mod.functions.items()):
        name = str(variable.name_hint)
        is_private = isinstance(func, tirx.PrimFunc) and "global_symbol" not in (func.attrs or {})
        if is_private and name not in used and (name not in known or name in used_before):
            del mod[variable]
    return mod


def _called(mod: IRModule) -> set[str]:
    """Return the names of all functions that others mention."""
    return {
        str(variable.name_hint)
        for func in mod.functions.values()
        if isinstance(func, (relax.Function, tirx.PrimFunc))
        for variable in nodes_of(func.body, GlobalVar)
    }
