"""AssignPoolInfo: which pools may hold each allocation."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule
from tvm.target import Target

from usmp.analysis.extract_buffer_info import PLANNED_SCOPES
from usmp.objects import ConstantPoolInfo, PoolInfo, PoolInfoProperties, WorkspacePoolInfo
from usmp.objects.attributes import (
    CANDIDATE_MEMORY_POOL_ATTR,
    CONSTANT_DATA_ATTR,
    CONSTANT_MEMORY_POOLS_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.transform.module_pass import ModulePass

DEFAULT_WORKSPACE_POOL_NAME = "global_workspace"
DEFAULT_CONSTANT_POOL_NAME = "global_const_workspace"


@tvm.transform.module_pass(opt_level=0, name="tir.usmp.AssignPoolInfo")
class AssignPoolInfo(ModulePass):
    """Annotate each global AllocBuffer with the pools that its PrimFunc's target may access.

    The pools are the module's `workspace_memory_pools`, and its `constant_memory_pools` for
    constants, in the user's order, which is the order of preference. Without pools of a kind
    there is one internal pool of that kind without limit: `global_workspace` or
    `global_const_workspace`. An AllocBuffer that has candidate pools already keeps them, so a
    schedule may exclude pools. RFC 0009, "Overview".

    Raises
    ------
    ValueError: a PrimFunc with allocations has no `target`, or no pool of the kind that it needs.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Annotate every PrimFunc."""
        known_targets = _targets_of(mod)
        workspace = _pools(mod, WORKSPACE_MEMORY_POOLS_ATTR) or [
            WorkspacePoolInfo(DEFAULT_WORKSPACE_POOL_NAME, known_targets, _internal())
        ]
        constants = _pools(mod, CONSTANT_MEMORY_POOLS_ATTR) or [
            ConstantPoolInfo(DEFAULT_CONSTANT_POOL_NAME, known_targets, None, _internal())
        ]
        annotated = IRModule(mod.functions, attrs=mod.attrs)
        for variable, func in mod.functions.items():
            if isinstance(func, tirx.PrimFunc):
                name = variable.name_hint
                annotated.update_func(variable, _annotate(func, name, workspace, constants))
        return annotated


def _annotate(
    func: tirx.PrimFunc, name: str, workspace: list[PoolInfo], constants: list[PoolInfo]
) -> tirx.PrimFunc:
    def annotate_allocation(stmt: tirx.AllocBuffer) -> tirx.AllocBuffer:
        is_global = stmt.buffer.scope() in PLANNED_SCOPES
        if not is_global or CANDIDATE_MEMORY_POOL_ATTR in stmt.annotations:
            return stmt
        pools = constants if CONSTANT_DATA_ATTR in stmt.annotations else workspace
        candidates = _accessible(pools, func, name)
        annotations = {**stmt.annotations, CANDIDATE_MEMORY_POOL_ATTR: candidates}
        return tirx.AllocBuffer(stmt.buffer, annotations, stmt.span)

    body = tvm_ffi.structural_map(func.body, (tirx.AllocBuffer, annotate_allocation))
    return func.with_body(body)


def _accessible(pools: list[PoolInfo], func: tirx.PrimFunc, name: str) -> list[PoolInfo]:
    """The pools that `func` may use: those that list its target."""
    target = func.attrs.get("target") if func.attrs else None
    if target is None:
        raise ValueError(
            f"{name} has no target, so it is not known which memory it may access; "
            "apply tirx.transform.BindTarget"
        )
    candidates = [pool for pool in pools if str(target) in _targets_as_text(pool)]
    if not candidates:
        raise ValueError(
            f"no pool may be accessed by target {_shown(target)} of {name} "
            f"({'; '.join(f'{p.pool_name}: {_shown(*p.targets)}' for p in pools)})"
        )
    return candidates


def _targets_as_text(pool: PoolInfo) -> list[str]:
    """The targets of a pool, which may be given by name; targets are equal if their texts are."""
    return [str(Target(target)) for target in pool.targets]


def _shown(*targets: Target | str) -> str:
    """Targets for a reader: the kind, and what is said by name, such as the processor."""
    shown = []
    for target in map(Target, targets):
        named = (f"{key}={value}" for key, value in target.attrs.items() if isinstance(value, str))
        shown.append(" ".join([target.kind.name, *sorted(named)]))
    return ", ".join(shown)


def _targets_of(mod: IRModule) -> list[Target]:
    """The targets of all functions, each once."""
    targets = [func.attrs.get("target") for func in mod.functions.values() if func.attrs]
    return list({str(target): target for target in targets if target is not None}.values())


def _pools(mod: IRModule, attribute: str) -> list[PoolInfo]:
    pools = mod.attrs.get(attribute) if mod.attrs else None
    return list(pools.pools) if pools is not None else []


def _internal() -> PoolInfoProperties:
    """A pool that is part of the generated code."""
    return PoolInfoProperties(is_internal=True)
