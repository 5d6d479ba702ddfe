"""A lower bound of the bytes that any plan of a module needs.

Searching takes most of a build, so it is skipped if the pools are below this bound. Whatever the
order, the copies and the interleaving of operators, a plan needs

- the largest window of each tensor: after each step of a reader, the bytes from the first one that
 later steps read to the last one that has been read;
- the largest allocation of each operator;
- all inputs together, and each output, if they are in the workspace, in the pools that may hold
 them;
- all states, in addition to the largest of the above if they may share pools;
- all constants, equal ones once.

Views and copies are not counted, because planning may drop them. A buffer lies in one
pool, so one pool must have room for the largest buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from hashlib import sha256
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from tvm import tirx
from tvm.ir import GlobalVar, IRModule

from usmp.algorithms.least_need import LeastNeed
from usmp.analysis.buffer_extraction import annotated_pools, is_plannable
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.facts import module_facts
from usmp.analysis.memory.memories import Memory
from usmp.objects import PoolInfo
from usmp.objects.attributes.annotations import (
    CONSTANT_DATA_ATTR,
    INPUT_TENSOR_ATTR,
    LIVE_THROUGHOUT_ATTR,
    OUTPUT_TENSOR_ATTR,
    STATE_BYTES_ATTR,
    STATE_TENSOR_ATTR,
)
from usmp.objects.attributes.attribute import Annotation
from usmp.objects.attributes.module_attributes import (
    MAIN_FUNCTION_NAME,
    OTHER_FORMS_ATTR,
    STATE_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.attributes.operator_attributes import SEGMENT_ATTR
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.module_pools import listed_pools, one_of_each_name
from usmp.objects.symbolic_size import has_symbolic_sizes
from usmp.planning.io_pools import io_pools_of, is_io_tensor
from usmp.planning.options import PlanningOptions
from usmp.planning.session import PlanningSession
from usmp.planning.session_keys import need_key
from usmp.planning.state_pool import state_pool_of, workspace_beside
from usmp.planning.streaming.operator_loop import ByteRanges
from usmp.planning.streaming.read_main import streamed_main
from usmp.planning.streaming.segment import MainOperator
from usmp.planning.streaming.segment_bytes import greatest_scratch
from usmp.planning.streaming.streamed_main import StreamedMain
from usmp.support.reachable import reachable
from usmp.tir.nodes import nodes_of
from usmp_solver import Pool

_OWN_FUNCTIONS = "usmp_"
"""Prefix of the names of copies that `usmp.aot.main_calls` adds."""

_Named: TypeAlias = tuple[int, str]
"""Bytes of a buffer, and its name."""

_NOTHING: _Named = (0, "")


def least_need(
    session: PlanningSession, mod: IRModule, options: PlanningOptions
) -> LeastNeed | None:
    """Return the lower bound of a module's bytes if its pools have less.

    Parameters
    ----------
    session
        remembers the bound, so that `PlanningSession.peaks` does not plan the module.
    mod
        a module without a plan.
    options
        options of the plan.

    Returns
    -------
    LeastNeed | None
        None if a plan may fit. If a search compared other forms of the model, the smallest bound of
        all forms; if that is unknown, the bound of `mod` with `is_of_all_forms` false.

    Raises
    ------
    ValueError
        the module is refused, see `PlanningSession.prepared`.
    """
    own = _own_need(session, mod, options)
    if own is not None and session.not_compared:
        # Forms that a time budget left out may need less.
        return replace(own, is_of_all_forms=False)
    others = OTHER_FORMS_ATTR.of(mod)
    if own is None or others is None:
        return own
    if others["pools"] != [pool.name for pool in own.pools]:
        return replace(own, is_of_all_forms=False)
    if others["needed_bytes"] <= own.available_bytes:
        return replace(own, is_of_all_forms=False)
    if own.needed_bytes <= others["needed_bytes"]:
        return own
    return replace(own, needed_bytes=others["needed_bytes"], largest=None)


def with_needs_of_forms(
    session: PlanningSession,
    mod: IRModule,
    forms: Iterable[IRModule],
    options: PlanningOptions,
) -> IRModule:
    """Return the module with the attribute `other_forms`: the smallest bound among forms.

    Parameters
    ----------
    mod
        the chosen form.
    forms
        the lowered forms that were compared, including `mod`; none of them fits.
    """
    needs = [least_need(session, form, options) for form in forms]
    known = [need for need in needs if need is not None]
    # Only bounds of the same pools and with the same `is_one_buffer` are comparable.
    places = {(need.is_one_buffer, *(pool.name for pool in need.pools)) for need in known}
    # If an earlier stage compared forms, not all combinations with its choices were compared.
    is_proved = (
        len(known) == len(needs)
        and len(places) == 1
        and all(need.is_of_all_forms for need in known)
        and not OTHER_FORMS_ATTR.is_on(mod)
    )
    return OTHER_FORMS_ATTR.put(
        mod,
        {
            "needed_bytes": min((need.needed_bytes for need in known), default=0),
            "pools": [pool.name for pool in known[0].pools] if is_proved else [],
        },
    )


def _own_need(
    session: PlanningSession, mod: IRModule, options: PlanningOptions
) -> LeastNeed | None:
    # Without streaming, planning is fast, so that a bound saves nothing.
    if not options.streams_operators or not _has_limits(mod) or has_symbolic_sizes(mod):
        return None
    return session.once(
        need_key(options), mod, lambda: _find(session.prepared(mod, options), options)
    )


def _has_limits(mod: IRModule) -> bool:
    """Return whether pools that the module lists have limits."""
    return any(int(pool.size_hint_bytes) >= 0 for pool in listed_pools(mod))


def _find(prepared: IRModule, options: PlanningOptions) -> LeastNeed | None:
    """Return the bound that exceeds its pools most, over all entries."""
    exceeded = [
        need
        for alone in _entries_alone(prepared)
        for need in (_constants(alone), *_written(alone, options))
        if need is not None and need.needed_bytes > need.available_bytes
    ]
    return max(exceeded, key=lambda need: need.needed_bytes - need.available_bytes, default=None)


def _entries_alone(prepared: IRModule) -> Iterator[IRModule]:
    names = list(map(entry_function_name, entries_of(prepared)))
    if names == [MAIN_FUNCTION_NAME]:
        yield prepared
        return
    functions = prim_funcs(prepared)
    operators = {
        prepared.get_global_var(name): func for name, func in functions.items() if name not in names
    }
    for name in names:
        main = GlobalVar(MAIN_FUNCTION_NAME)
        yield IRModule({**operators, main: functions[name]}, attrs=prepared.attrs)


def _need(
    needed_bytes: int,
    pools: Sequence[PoolInfo],
    holds: str,
    largest: _Named,
    is_one_buffer: bool = False,
) -> LeastNeed | None:
    """Return a lower bound for some pools; None without pools, or if one of them has no limit."""
    limits = [int(pool.size_hint_bytes) for pool in pools]
    if not limits or min(limits) < 0:
        return None
    available = max(limits) if is_one_buffer else sum(limits)
    named = tuple(
        Pool(str(pool.pool_name), limit) for pool, limit in zip(pools, limits, strict=True)
    )
    size, name = largest
    return LeastNeed(needed_bytes, available, named, holds, is_one_buffer, largest=(name, size))


def _constants(mod: IRModule) -> LeastNeed | None:
    """Return the bound of the constants of `__tvm_main__` and of the PrimFuncs that it calls."""
    stmts = [
        (name, stmt)
        for name in reachable([MAIN_FUNCTION_NAME], module_facts(mod).graph.callees)
        for stmt in nodes_of(mod[name].body, tirx.AllocBuffer)
        if CONSTANT_DATA_ATTR.is_on(stmt) and is_plannable(stmt)
    ]
    pools = _pools_of(stmts)
    if any(int(pool.size_hint_bytes) < 0 for pool in pools):
        return None
    contents: dict[bytes, _Named] = {}
    for _, stmt in stmts:
        content = CONSTANT_DATA_ATTR.required(stmt).numpy().tobytes()
        contents.setdefault(sha256(content).digest(), (len(content), str(stmt.buffer.name)))
    sizes = [size for size, _ in contents.values()]
    return _need(sum(sizes), pools, "the constants", max(contents.values(), default=_NOTHING))


def _pools_of(stmts: Iterable[tuple[str, tirx.AllocBuffer]]) -> list[PoolInfo]:
    """Return the candidate pools of the allocations of some functions."""
    return one_of_each_name(pool for name, stmt in stmts for pool in annotated_pools(stmt, name))


def _written(mod: IRModule, options: PlanningOptions) -> Iterator[LeastNeed | None]:
    """Yield the bounds of states, inputs, outputs, tensors and scratch."""
    main = streamed_main(mod)
    if main is None:
        return
    states = [
        (STATE_BYTES_ATTR.get(stmt, size_bytes(stmt.buffer)), stmt)
        for stmt in _used(main, STATE_TENSOR_ATTR)
    ]
    inputs, outputs = ([], []) if options.streams_io or options.hops else _io(main)
    tensors = _plain_tensors(main)
    largest = max([_NOTHING, *inputs, *outputs, *_operators(main, tensors)])
    together = max(largest[0], sum(size for size, _ in inputs))
    bytes_of_states = sum(size for size, _ in states)
    largest_state = max([_NOTHING, *((size, str(stmt.buffer.name)) for size, stmt in states)])
    pools = _workspace_pools(mod, main)
    of_states = _pools_of((MAIN_FUNCTION_NAME, stmt) for _, stmt in states)
    if STATE_MEMORY_POOL_ATTR.is_on(mod):
        yield _need(bytes_of_states, of_states, "the states", largest_state)
        yield _need(together, pools, "the model", largest)
    else:
        both = one_of_each_name([*pools, *of_states])
        yield _need(bytes_of_states + together, both, "the model", max(largest, largest_state))
    yield _need(largest[0], pools, "the model", largest, is_one_buffer=True)
    permits = io_pools_of(mod).permits
    of_io = [pool for pool in pools if permits(pool, is_io=True)]
    if len(of_io) < len(pools):
        largest = max([_NOTHING, *inputs, *outputs])
        together = max(largest[0], sum(size for size, _ in inputs))
        yield _need(together, of_io, "inputs and outputs", largest)
        yield _need(largest[0], of_io, "inputs and outputs", largest, is_one_buffer=True)
    of_others = [pool for pool in pools if permits(pool, is_io=False)]
    if len(of_others) < len(pools):
        others = {memory for memory in tensors if not _is_io(main.allocations.get(memory))}
        largest = max([_NOTHING, *_operators(main, others)])
        yield _need(largest[0], of_others, "the model", largest, is_one_buffer=True)


def _workspace_pools(mod: IRModule, main: StreamedMain) -> list[PoolInfo]:
    """Return all pools that may hold tensors and scratch, and perhaps others."""
    stmts = [(MAIN_FUNCTION_NAME, stmt) for stmt in main.allocations.values()]
    stmts += [
        (str(operator.statement.callee), stmt)
        for operator in main.operators
        for stmt, _ in operator.statement.scratch
    ]
    states_apart = state_pool_of(mod)
    listed = listed_pools(mod, WORKSPACE_MEMORY_POOLS_ATTR)
    if states_apart is not None:
        listed = workspace_beside(states_apart, listed)
    of_stmts = _pools_of((name, stmt) for name, stmt in stmts if _is_other(stmt))
    return one_of_each_name([*listed, *of_stmts])


def _is_other(stmt: tirx.AllocBuffer | None) -> TypeGuard[tirx.AllocBuffer]:
    """Return whether an allocation is planned, and neither a constant nor a state."""
    return (
        stmt is not None
        and is_plannable(stmt)
        and not CONSTANT_DATA_ATTR.is_on(stmt)
        and not STATE_TENSOR_ATTR.is_on(stmt)
    )


def _used(main: StreamedMain, annotation: Annotation[Any]) -> list[tirx.AllocBuffer]:
    """Return the allocations of main that have an annotation and that an operator accesses."""
    return [
        stmt
        for memory, stmt in main.allocations.items()
        if stmt is not None
        and is_plannable(stmt)
        and annotation.is_on(stmt)
        and memory in main.users
    ]


def _is_io(stmt: tirx.AllocBuffer | None) -> bool:
    return stmt is not None and is_io_tensor(stmt)


def _io(main: StreamedMain) -> tuple[list[_Named], list[_Named]]:
    """Return the inputs and the outputs that lie in the workspace."""
    # Leave out inputs that only copies use, because some choices have no such copies.
    read = {m for o in main.operators if not _is_copy(o) for m in o.statement.ranges}
    inputs = [stmt for stmt in _used(main, INPUT_TENSOR_ATTR) if stmt.buffer in read]
    outputs = _used(main, OUTPUT_TENSOR_ATTR)
    return _named(inputs), _named(outputs)


def _named(stmts: Iterable[tirx.AllocBuffer]) -> list[_Named]:
    return [(size_bytes(stmt.buffer), str(stmt.buffer.name)) for stmt in stmts]


def _operators(main: StreamedMain, tensors: Set[Memory]) -> Iterator[_Named]:
    """Yield the bytes of each operator's scratch, and of its largest window of each tensor."""
    for operator in main.operators:
        name = operator.statement.callee
        if name is None or operator.func is None or _is_chosen(main, operator.func, name):
            continue
        yield _scratch_bytes(main, operator, name), f"scratch of {name}"
        if operator.loop is None or _updates_kept(main, operator):
            continue
        for index, memory in operator.memories.items():
            if memory in tensors and index in operator.loop.reads:
                window = _window_bytes(operator.loop.reads[index], main.sizes[memory])
                yield window, str(memory.name)


def _is_chosen(main: StreamedMain, func: tirx.PrimFunc, name: str) -> bool:
    """Return whether a PrimFunc is made of several operators: a segment, or the body of a loop or
    branch."""
    return SEGMENT_ATTR.is_on(func) or bool(main.facts.of(name).callees)


def _scratch_bytes(main: StreamedMain, operator: MainOperator, name: str) -> int:
    """Return the scratch bytes of an operator, by its own schedule or its row schedule, whichever
    is less."""
    forms = [main.facts.of(name), *([operator.loop.facts] if operator.loop else [])]
    return min(facts.once("greatest_scratch", greatest_scratch) for facts in forms)


def _updates_kept(main: StreamedMain, operator: MainOperator) -> bool:
    """Return whether an operator accesses a state or an updated input. Such an operator may get
    another schedule to run in place."""
    stmts = (main.allocations.get(memory) for memory in operator.statement.ranges)
    return any(
        stmt is not None and (STATE_TENSOR_ATTR.is_on(stmt) or LIVE_THROUGHOUT_ATTR.is_on(stmt))
        for stmt in stmts
    )


def _window_bytes(read: ByteRanges, size: int) -> int:
    """Return the most bytes of a tensor that a ring has to hold between two steps of its reader:
    from the first byte that later steps read to the end of the bytes read before."""
    ends, begins = np.clip(read.ends[:-1], 0, size), np.clip(read.begins[1:], 0, size)
    return int((ends - begins).max(initial=0))


def _plain_tensors(main: StreamedMain) -> set[Memory]:
    """Return the tensors without views and copies, because each choice of copies has these."""
    body = main.mod[MAIN_FUNCTION_NAME].body
    shared = {v for stmt in nodes_of(body, tirx.DeclBuffer) for v in nodes_of(stmt, tirx.Var)}
    for operator in main.operators:
        if _is_copy(operator):
            shared |= operator.statement.ranges.keys()
    return {memory for memory in main.sizes if memory not in shared}


def _is_copy(operator: MainOperator) -> bool:
    """Return whether a statement may be a copy, which is no operator of the model."""
    callee = operator.statement.callee
    return callee is None or callee.startswith(_OWN_FUNCTIONS)
