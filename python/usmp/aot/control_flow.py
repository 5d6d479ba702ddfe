"""Loops and branches in TIR around lowered bodies (see `usmp.ops.control_flow`).

    for (i = 0; i < trips; ++i) body(carried, rows, others)
    while (again) { condition(carried, others); if (again) body(carried, others) }
    if (condition) body(others) else other_body(others)

Allocations stay inside of their bodies, so that bodies can share memory. Carried tensors are
parameters, which the body overwrites when their old values are dead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import IRModule

from usmp.aot.main_values import flat_buffer
from usmp.aot.shared_functions import SharedFunctions
from usmp.objects.attributes.annotations import STATE_TENSOR_ATTR
from usmp.objects.attributes.module_attributes import (
    EXTENDS_STATES_ATTR,
    MAIN_FUNCTION_NAME,
    STATES_ATTR,
)
from usmp.objects.state_info import StateInfo
from usmp.ops.control_flow import CONTROL_FLOW_ATTR, ControlFlow
from usmp.relax.static_shapes import flatten_types, main_function
from usmp.tir.nodes import sequence


def with_carried_tensors(body: IRModule, flow: ControlFlow) -> IRModule:
    """Return the body of a loop with the carried tensors as states of its `main`. States are
    written in place, or copied when their old values are dead."""
    main = main_function(body)
    first = int(flow.counts)
    params = main.params[first : first + flow.carried]
    states = [
        StateInfo(param.name, index, tvm.runtime.tensor(np.zeros((), str(param.ty.dtype))))
        for index, param in enumerate(params)
    ]
    changed = body.clone()
    changed.update_func(body.get_global_var("main"), STATES_ATTR.put(main, states))
    return EXTENDS_STATES_ATTR.put(changed, False)


def write_control_flow(
    func: tirx.PrimFunc, flow: ControlFlow, lowered: Sequence[IRModule], shared: SharedFunctions
) -> tirx.PrimFunc:
    """Return the PrimFunc that runs lowered bodies.

    Parameters
    ----------
    func
        a PrimFunc that takes pointers and has no body yet.
    flow
        the loop or branch to write.
    lowered
        the bodies of `flow` after `LowerMain`, in order.
    shared
        functions that bodies call; new ones are added.
    """
    if flow.is_choice:
        statements = _choice(func, lowered, shared)
    elif flow.trips < 0:
        statements = _loop_while(func, flow, lowered, shared)
    else:
        statements = _loop(func, flow, lowered[0], shared)
    return CONTROL_FLOW_ATTR.removed(func.with_body(sequence(statements)))


def _choice(
    func: tirx.PrimFunc, lowered: Sequence[IRModule], shared: SharedFunctions
) -> list[tirx.Stmt]:
    condition = flat_buffer("condition", [1], "bool")
    cases = [sequence(_statements(mod, func.params[1:], {}, shared)) for mod in lowered]
    return [
        tirx.DeclBuffer(condition, data=func.params[0]),
        tirx.IfThenElse(condition[0], *cases),
    ]


def _loop_while(
    func: tirx.PrimFunc, flow: ControlFlow, lowered: Sequence[IRModule], shared: SharedFunctions
) -> list[tirx.Stmt]:
    again = flat_buffer("again", [1], "bool")
    condition, body = lowered
    check = _statements(condition, [*func.params, _address(again, 0)], {}, shared)
    carried = _carried(flow, 0, func)
    run = _statements(body, func.params[flow.carried :], carried, shared)
    turn = [*check, tirx.IfThenElse(again[0], sequence(run), None)]
    return [
        tirx.AllocBuffer(again),
        tirx.BufferStore(again, tirx.const(True, "bool"), [0]),
        tirx.While(again[0], sequence(turn)),
    ]


def _loop(
    func: tirx.PrimFunc, flow: ControlFlow, lowered: IRModule, shared: SharedFunctions
) -> list[tirx.Stmt]:
    index = tirx.Var("iteration", "int32")
    first = int(flow.counts)
    main = main_function(flow.bodies[0])
    types = [param.ty for param in main.params][first + flow.carried :]
    results = flatten_types(main.body.body.ty)[flow.carried :]
    pointers = list(func.params[flow.carried :])
    rows = [*range(flow.scanned), *range(len(types), len(pointers))]
    declared: list[tirx.Stmt] = []
    for place in rows:
        ty = [*types, *results][place]
        row = prod(int(extent) for extent in ty.shape)
        whole = flat_buffer(f"{pointers[place].name}_rows", [flow.trips * row], str(ty.dtype))
        declared.append(tirx.DeclBuffer(whole, data=pointers[place]))
        pointers[place] = _address(whole, index * row)
    turn: list[tirx.Stmt] = []
    if flow.counts:
        number = flat_buffer("number", [1], "int64")
        turn += [
            tirx.AllocBuffer(number),
            tirx.BufferStore(number, tirx.Cast("int64", index), [0]),
        ]
        pointers.insert(0, _address(number, 0))
    turn += _statements(lowered, pointers, _carried(flow, first, func), shared)
    return [*declared, tirx.For(index, 0, flow.trips, tirx.ForKind.SERIAL, sequence(turn))]


def _carried(flow: ControlFlow, first: int, func: tirx.PrimFunc) -> dict[str, tirx.Expr]:
    """Return a map from the name of a body's parameter to the pointer of the carried tensor."""
    params = main_function(flow.bodies[-1]).params[first : first + flow.carried]
    return {param.name: func.params[index] for index, param in enumerate(params)}


def _address(buffer: tirx.Buffer, index: tirx.Expr | int) -> tirx.Expr:
    return tirx.address_of(tirx.BufferLoad(buffer, [index]))


def _statements(
    lowered: IRModule,
    pointers: Sequence[tirx.Expr],
    carried: Mapping[str, tirx.Expr],
    shared: SharedFunctions,
) -> list[tirx.Stmt]:
    """Return the statements of a body's `__tvm_main__`, with new buffers at each call.

    Parameters
    ----------
    pointers
        values of its parameters.
    carried
        name of a state -> its pointer.
    """
    main = shared.add_callees(lowered, MAIN_FUNCTION_NAME)
    arguments = dict(zip(main.params, pointers, strict=True))
    buffers: dict[tirx.Var, tirx.Buffer] = {}

    def renamed(node: tirx.Expr | tirx.Stmt) -> tirx.Expr | tirx.Stmt:
        return tvm_ffi.structural_map(node, (tirx.Var, lambda var: buffers.get(var, var)))

    def write() -> Iterator[tirx.Stmt]:
        for stmt in tirx.stmt_list(main.body):
            if not isinstance(stmt, tirx.AllocBuffer | tirx.DeclBuffer):
                yield renamed(stmt)
                continue
            old = stmt.buffer
            new = tirx.decl_buffer(old.shape, str(old.dtype), old.name)
            if isinstance(stmt, tirx.DeclBuffer):
                data = arguments[stmt.data] if stmt.data in arguments else renamed(stmt.data)
                yield tirx.DeclBuffer(new, data=data)
            elif STATE_TENSOR_ATTR.is_on(stmt):
                yield tirx.DeclBuffer(new, data=carried[STATE_TENSOR_ATTR.required(stmt)])
            else:
                yield tirx.AllocBuffer(new, stmt.annotations)
            buffers[old] = new

    return list(write())
