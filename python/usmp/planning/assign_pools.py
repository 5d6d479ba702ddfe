"""The choice of the pools that may hold each allocation."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule
from tvm.target import Target

from usmp.analysis.buffer_extraction import PLANNED_SCOPES, annotated_pools
from usmp.analysis.function_targets import function_targets
from usmp.analysis.memory.access import Access, MemoryUse
from usmp.analysis.memory.facts import ModuleFacts, module_facts
from usmp.objects import (
    ConstantPoolInfo,
    PoolInfo,
    PoolInfoProperties,
    WorkspacePoolInfo,
)
from usmp.objects.attributes.annotations import (
    CANDIDATE_POOLS_ATTR,
    CONSTANT_DATA_ATTR,
    INPUT_TENSOR_ATTR,
)
from usmp.objects.attributes.module_attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    EXECUTOR_ATTR,
    STATE_LAYOUT_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.entries import called_by_users
from usmp.objects.module_pools import listed_pools
from usmp.objects.pools import READ_WRITE_ACCESS
from usmp.objects.target.targets import is_target, target_text
from usmp.planning.io_pools import IOPools, io_pools_of, preferred_order
from usmp.planning.state_places import StatePlaces, state_places_of
from usmp.planning.state_pool import DEFAULT_WORKSPACE_POOL_NAME, workspace_beside
from usmp.support.reachable import reachable
from usmp.tir.identity import identity

DEFAULT_CONSTANT_POOL_NAME = "global_const_workspace"


@dataclass(frozen=True)
class AnnotatedFunctions:
    """A cache of PrimFuncs with candidate pools, by the facts that decide the pools. A PrimFunc in
    several modules is annotated once, and stays one object."""

    functions: dict[Hashable, tirx.PrimFunc] = field(default_factory=dict)
    pools: dict[Hashable, list[PoolInfo]] = field(default_factory=dict)
    """Internal pools, by the targets that they list."""
    kept: list[object] = field(default_factory=list)
    """Objects whose addresses are in keys, kept alive so that no other object gets these."""


def assign_pools(mod: IRModule, known: AnnotatedFunctions) -> IRModule:
    """Annotate the allocations of a module with candidate pools, for `AssignPoolInfo`.

    Parameters
    ----------
    mod
        has PrimFuncs with targets, and lists its pools.
    known
        PrimFuncs that were annotated before; grows.

    Raises
    ------
    ValueError
        see `AssignPoolInfo`.
    """
    targets = function_targets(mod)
    known_targets = list({str(t): t for t in targets.values() if t is not None}.values())
    names = tuple(map(str, known_targets))
    workspace = preferred_order(listed_pools(mod, WORKSPACE_MEMORY_POOLS_ATTR))
    constants = listed_pools(mod, CONSTANT_MEMORY_POOLS_ATTR)
    states, io = state_places_of(mod), io_pools_of(mod)
    if states.pool is not None:
        workspace = workspace_beside(states.pool, workspace)
    workspace = workspace or known.pools.setdefault(
        ("workspace", names),
        [WorkspacePoolInfo(DEFAULT_WORKSPACE_POOL_NAME, known_targets, _internal())],
    )
    constants = constants or known.pools.setdefault(
        ("constants", names),
        [ConstantPoolInfo(DEFAULT_CONSTANT_POOL_NAME, known_targets, None, _internal())],
    )
    state_attributes = STATE_LAYOUT_ATTR.of(mod), EXECUTOR_ATTR.of(mod)
    chosen = (states.pool, io.pool, *state_attributes, *workspace, *constants)
    pools = tuple(map(identity, chosen)), len(workspace)
    annotated = IRModule(mod.functions, attrs=mod.attrs)
    facts = module_facts(mod)
    assignment = _Assignment(targets, known_targets, workspace, constants, states, io, facts)
    for variable, func in mod.functions.items():
        if isinstance(func, tirx.PrimFunc):
            name = str(variable.name_hint)
            key = pools, names, assignment.reached_from(name)
            if key not in known.functions:
                known.kept.extend([mod, *chosen])
                known.functions[key] = assignment.annotate(func, name)
            annotated.update_func(variable, known.functions[key])
    return annotated


@dataclass(frozen=True)
class _Need:
    """The access to a buffer that functions of a target need; `function` is one of them."""

    target: Target
    function: str
    access: Access

    def is_met_by(self, pool: PoolInfo) -> bool:
        """Return whether `pool` lists the target, with enough access."""
        return any(
            is_target(listed, self.target)
            and (access == READ_WRITE_ACCESS or not self.access.may_write)
            for listed, access in pool.target_access.items()
        )

    def __str__(self) -> str:
        done = "written" if self.access.may_write else "read" if self.access else "allocated"
        return f"{done} by target {target_text(self.target)} of {self.function}"


@dataclass(frozen=True)
class _Assignment:
    targets: dict[str, Target | None]
    known_targets: list[Target]
    workspace: list[PoolInfo]
    constants: list[PoolInfo]
    states: StatePlaces
    io: IOPools
    facts: ModuleFacts
    _answers: dict[str, tuple[PoolInfo | None, bool]] = field(default_factory=dict)
    """Pool name -> the pool that was tested last, and whether it is open (see `_is_open`)."""

    def reached_from(self, name: str) -> tuple[Hashable, ...]:
        """Return the key of a PrimFunc and its callees, to any depth, with their targets."""
        graph = self.facts.graph
        reached = reachable([name], graph.callees)
        return tuple((n, identity(graph.functions[n]), str(self.targets[n])) for n in reached)

    def annotate(self, func: tirx.PrimFunc, name: str) -> tirx.PrimFunc:
        """Return `func` with candidate pools at its global allocations."""

        def annotate_allocation(stmt: tirx.AllocBuffer) -> tirx.AllocBuffer:
            if stmt.buffer.scope() not in PLANNED_SCOPES:
                return stmt
            chosen = annotated_pools(stmt, name)
            if CANDIDATE_POOLS_ATTR.is_on(stmt):
                self._check(stmt, name)
                candidates = self.io.permitted(stmt, self.states.kept(stmt, chosen, name), name)
            else:
                candidates = self._candidates(stmt, name)
            decided = self.states.annotations(stmt, candidates)
            if len(decided) == 1 and len(candidates) == len(chosen):
                return stmt
            annotations = {**stmt.annotations, **decided}
            return tirx.AllocBuffer(stmt.buffer, annotations, stmt.span)

        body = tvm_ffi.structural_map(func.body, (tirx.AllocBuffer, annotate_allocation))
        return func if body.same_as(func.body) else func.with_body(body, func.span)

    def _candidates(self, stmt: tirx.AllocBuffer, name: str) -> list[PoolInfo]:
        target = self.targets[name]
        if target is None:
            raise ValueError(
                f"{name} has no target, so it is not known which memory it may access; "
                "apply tirx.transform.BindTarget"
            )
        is_constant = CONSTANT_DATA_ATTR.is_on(stmt)
        pools = self.constants if is_constant else self.states.pools_of(stmt, self.workspace)
        pools = self.io.permitted(stmt, pools, name)
        if self._is_open(pools, is_constant):
            return pools
        needs = self._needs(stmt, target, name)
        candidates = [pool for pool in pools if all(need.is_met_by(pool) for need in needs)]
        if not candidates:
            shown = "; ".join(f"{pool.pool_name}: {_shown_access(pool)}" for pool in pools)
            raise ValueError(
                f"{called_by_users(name)}: no pool may hold buffer {stmt.buffer.name}, which is "
                f"{' and '.join(map(str, needs))} ({shown})"
            )
        return candidates

    def _is_open(self, pools: list[PoolInfo], is_constant: bool) -> bool:
        """Return whether every function may read and write every pool. This is the usual case, and
        spares the search for the functions that access a buffer."""
        return all(self._is_open_pool(pool, is_constant) for pool in pools)

    def _is_open_pool(self, pool: PoolInfo, is_constant: bool) -> bool:
        known, answer = self._answers.get(str(pool.pool_name), (None, False))
        if known is None or not known.same_as(pool):
            access = Access.READ if is_constant else Access.UNKNOWN
            needs = [_Need(target, "", access) for target in self.known_targets]
            answer = all(need.is_met_by(pool) for need in needs)
            self._answers[str(pool.pool_name)] = (pool, answer)
        return answer

    def _check(self, stmt: tirx.AllocBuffer, name: str) -> None:
        """Refuse candidate pools that an allocation already has if functions cannot access them. A
        pool without targets permits all accesses."""
        target = self.targets[name]
        pools = [pool for pool in annotated_pools(stmt, name) if pool.targets]
        if target is None or self._is_open(pools, CONSTANT_DATA_ATTR.is_on(stmt)):
            return
        needs = self._needs(stmt, target, name)
        for pool in pools:
            unmet = [need for need in needs if not need.is_met_by(pool)]
            if unmet:
                raise ValueError(
                    f"{name}: buffer {stmt.buffer.name} has the candidate pool "
                    f"{pool.pool_name}, which may not be {unmet[0]} "
                    f"({pool.pool_name}: {_shown_access(pool)})"
                )

    def _needs(self, stmt: tirx.AllocBuffer, target: Target, name: str) -> list[_Need]:
        """Return the access to a buffer that each target needs, the allocating target first."""
        use = self.facts.of(name).liveness.allocation_use.get(stmt, MemoryUse())
        needs = {str(target): _Need(target, name, Access.NONE)}
        accesses = dict(use.by_function)
        if INPUT_TENSOR_ATTR.is_on(stmt):  # the application writes it
            accesses[name] = accesses.get(name, Access.NONE) | Access.WRITE
        for function, access in accesses.items():
            accessing = self.targets[function] or target
            if CONSTANT_DATA_ATTR.is_on(stmt):
                access = Access.READ
            known = needs.get(str(accessing), _Need(accessing, function, Access.NONE))
            writes_first = access.may_write and not known.access.may_write
            by = function if writes_first else known.function
            needs[str(accessing)] = _Need(accessing, by, known.access | access)
        return list(needs.values())


def _shown_access(pool: PoolInfo) -> str:
    return ", ".join(
        (target_text(target) if isinstance(target, Target) else str(target))
        + ("" if access == READ_WRITE_ACCESS else f" ({access})")
        for target, access in pool.target_access.items()
    )


def _internal() -> PoolInfoProperties:
    """Return the properties of a pool that is part of the generated code."""
    return PoolInfoProperties(is_internal=True)
