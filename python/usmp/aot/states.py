"""States of a model: initialize them in the first run, update them in every run.

A state is a buffer of `__tvm_main__`, or the start of one (see `state_windows`). It holds its old
value until the new value is written, by the operator that computes the value if possible, or else
by a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import numpy as np
import tvm
from tvm import tirx

from usmp.aot.in_place_operators import InPlaceOperators
from usmp.aot.main_calls import MainCall, MainCalls, call_statement
from usmp.objects.placed_state import StateTensor, digest_of_names
from usmp.objects.state_info import StateInfo
from usmp.support.array_bytes import are_alike
from usmp.tir.model_operator import joined_span, label_span


def flag_tensor(name: str, states: Iterable[StateInfo]) -> StateTensor:
    """Return the tensor of a flag that is set when the first run has initialized these states."""
    marked = [str(state.name) for state in states if not starts_as_zeros(state)]
    return StateTensor(name, [1], "uint8", digest_of_names(marked))


def set_once(
    calls: MainCalls,
    states: dict[tirx.Buffer, StateInfo],
    constant: Callable[[StateInfo, tvm.runtime.Tensor], tirx.Buffer],
    flag: Callable[[], tirx.Buffer],
) -> list[tirx.Stmt]:
    """Return the statements that initialize the states in the first run.

    Pools are zero before the first run, so states that start as zeros need no statement.

    Parameters
    ----------
    states
        buffer -> its state.
    constant
        returns a buffer with the initial value of a state, or with one row if all rows are equal.
    flag
        returns a buffer of one uint8 that is kept between runs.
    """
    setting: list[tirx.Stmt] = []
    for buffer, state in states.items():
        values = state.initial_value.numpy()
        if starts_as_zeros(state):
            continue
        row = _first_row(values)
        if are_alike(row):
            operator, sources = calls.fill_function(buffer, row.reshape(-1)[0].item()), []
        elif row.size < values.size:
            operator = calls.repeat_function(buffer, row.size)
            sources = [constant(state, tvm.runtime.tensor(row))]
        else:
            operator, sources = calls.copy_function(buffer), [constant(state, state.initial_value)]
        span = joined_span([label_span("initial values of states"), state.set_by])
        setting.append(call_statement(operator, [*sources, buffer], span=span))
    if not setting:
        return []
    is_set = flag()
    setting.append(tirx.BufferStore(is_set, tirx.const(1, "uint8"), [0]))
    is_first_run = tirx.EQ(is_set[0], tirx.const(0, "uint8"))
    return [tirx.IfThenElse(is_first_run, tirx.SeqStmt(setting), None)]


def _first_row(values: np.ndarray) -> np.ndarray:
    """Return the first row, along the outermost axis longer than 1, if all rows are equal; else all
    values."""
    rows = next((extent for extent in values.shape if extent > 1), 1)
    split = values.reshape(rows, -1)
    content = split[0].tobytes()
    return split[0] if all(row.tobytes() == content for row in split) else values


def starts_as_zeros(state: StateInfo) -> bool:
    """Return whether all bytes of the initial value are zero."""
    return not np.frombuffer(state.initial_value.numpy().tobytes(), np.uint8).any()


def write_state_in_place(
    calls: MainCalls,
    new_values: dict[tirx.Buffer, tirx.Buffer],
    returned: list[tirx.Buffer],
    produced: set[tirx.Buffer],
    in_place: InPlaceOperators | None = None,
    updated: Collection[tirx.Buffer] = (),
) -> dict[tirx.Buffer, tirx.Buffer]:
    """Let operators write new values directly to states whose old values are dead.

    Parameters
    ----------
    new_values
        buffer of a state -> buffer with its value after the run.
    returned
        buffers of the model's outputs.
    produced
        buffers that operators write and that have no other owner.
    in_place
        in-place variants of operators, if there are any.
    updated
        states that are inputs: one operator may read the old and write the new value, if safe.

    Returns
    -------
    dict[tirx.Buffer, tirx.Buffer]
        Produced buffer that is now a state -> buffer of the state.
    """
    renamed: dict[tirx.Buffer, tirx.Buffer] = {}
    results = {*returned, *new_values.values()}
    for state, value in new_values.items():
        if value not in produced or value in renamed or state in results:
            continue
        last, first = calls.last_mention(state), calls.first_mention(value)
        if last == first and in_place is not None and state in updated:
            if not _overwrite(calls, calls.calls[first], state, value, in_place):
                continue
            last = -1
        if last < first:
            calls.rename(value, state)
            renamed[value] = state
    return renamed


def _overwrite(
    calls: MainCalls,
    call: MainCall,
    state: tirx.Buffer,
    value: tirx.Buffer,
    in_place: InPlaceOperators,
) -> bool:
    """Let a call that reads a state and computes its new value write in place, if safe. Return
    whether it does."""
    roots = [calls.root(argument)[0] for argument in call.arguments]
    places = [call.arguments.index(b) for b in (state, value) if b in call.arguments]
    is_once = roots.count(state) == 1 and roots.count(value) == 1 and len(places) == 2
    if call.operator is None or not is_once or state in call.written or value not in call.written:
        return False
    if calls.sizes.get(call.operator):
        return False  # The order of accesses is unknown for symbolic sizes.
    func = in_place.overwriting(call.operator, *places)
    if func is None:
        return False
    call.operator = calls.add_function(call.operator, func)
    del call.arguments[places[1]]
    call.written = {state, *call.written} - {value}
    return True


def copy_to_states(
    calls: MainCalls,
    new_values: dict[tirx.Buffer, tirx.Buffer],
    allocate: Callable[[tirx.Buffer], tirx.Buffer],
) -> None:
    """Copy new values to states where necessary, directly after the last use of the old value.

    Parameters
    ----------
    new_values
        buffer of a state -> buffer with its value after the run, possibly the old value of another
        state. A value that is a part of its state's window begins at or after the start of the
        state, so that a copy in ascending order may move it.
    allocate
        allocates a buffer like another one.
    """
    pending = {s: v for s, v in new_values.items() if calls.root(v) != calls.root(s)}
    while pending:
        sources = set(pending.values())
        state = next((state for state in pending if state not in sources), None)
        if state is None:
            # States exchange their values: save one of them in a new buffer.
            state = next(iter(pending))
            waiting = allocate(state)
            calls.copy(state, waiting, calls.last_write(state) + 1)
            pending = {s: waiting if v.same_as(state) else v for s, v in pending.items()}
        value = pending.pop(state)
        calls.copy(value, state, max(calls.last_mention(state), calls.last_write(value)) + 1)
