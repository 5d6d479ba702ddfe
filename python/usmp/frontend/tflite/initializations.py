"""The subgraphs that CALL_ONCE runs, which set variables before the first run of any function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.file.read import called_once
from usmp.frontend.tflite.file.signatures import Signature
from usmp.frontend.tflite.states import Assignment, KeptTensors, Variable, variable_of
from usmp.support.errors import UnsupportedModelError
from usmp.tir.spans import joined_or

Operators = Mapping[int, Sequence[TfliteOperator]]
"""The operators of subgraphs, by their numbers."""


def called_once_by(operators: Sequence[TfliteOperator]) -> list[int]:
    """Return the numbers of the subgraphs that CALL_ONCE runs, in the order of first calls."""
    calls = (called_once(o.table) for o in operators if o.name == "CALL_ONCE")
    return list(dict.fromkeys(calls))


def enter_variables(
    kept: KeptTensors, signatures: Sequence[Signature], operators: Operators
) -> dict[int, dict[int, Variable]]:
    """Record the variables of all subgraphs, with their initial values.

    An initialization sets the variables of all functions, whichever function runs it.

    Parameters
    ----------
    operators
        the operators of the signatures' subgraphs, and of those that CALL_ONCE runs.

    Returns
    -------
    dict[int, dict[int, Variable]]
        Number of a subgraph -> index of a VAR_HANDLE's output -> the variable.

    Raises
    ------
    UnsupportedModelError
        an initialization does more than assign constants, or two functions give a variable
        different initial values.
    """
    entries = {signature.graph for signature in signatures}
    handles = {
        number: kept.find(operators[number], number not in entries) for number in sorted(operators)
    }
    for signature in signatures:
        calls: dict[int, TfliteOperator] = {}
        for operator in operators[signature.graph]:
            if operator.name == "CALL_ONCE":
                calls.setdefault(called_once(operator.table), operator)
        for number, call in calls.items():
            if number not in kept.initializations:
                kept.initializations[number] = _assigned(
                    signature, call, operators, handles[number]
                )
        assigned = _initial_values(kept, signature.graph, operators, handles[signature.graph])
        kept.set_by[signature.graph] = {v: assignment.span for v, assignment in assigned.items()}
        for variable, value in ((v, assignment.value) for v, assignment in assigned.items()):
            if variable.initial is None:
                variable.initial = value
            elif not _are_equal(variable.initial, value):
                raise UnsupportedModelError(
                    f'{signature.prefix}variable "{variable.name}" is initialized here and by a '
                    "signature before with different values; it is one variable, which has one "
                    "initial value"
                )
    return handles


def _initial_values(
    kept: KeptTensors, graph: int, operators: Operators, handles: Mapping[int, Variable]
) -> dict[Variable, Assignment]:
    """Return the initial values of the variables that CALL_ONCE sets before the subgraph uses them,
    with the joined spans of CALL_ONCE and the assignments."""
    values: dict[Variable, Assignment] = {}
    used: set[Variable] = set()
    ran: set[int] = set()
    for operator in operators[graph]:
        if operator.name in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
            used.add(variable_of(operator, handles))
        elif operator.name == "CALL_ONCE" and (number := called_once(operator.table)) not in ran:
            ran.add(number)
            assigned = kept.initializations[number]
            call = operator.described_in_full(graph).as_span()
            values |= {
                v: Assignment(assignment.value, joined_or(call, assignment.span))
                for v, assignment in assigned.items()
                if v not in used
            }
            for variable in used & assigned.keys():
                variable.changes = True
    return values


def _assigned(
    signature: Signature,
    call: TfliteOperator,
    operators: Operators,
    handles: Mapping[int, Variable],
) -> dict[Variable, Assignment]:
    values, number = {}, called_once(call.table)
    for assignment in operators[number]:
        if assignment.name == "VAR_HANDLE":
            continue
        if assignment.name != "ASSIGN_VARIABLE":
            raise UnsupportedModelError(
                f"{signature.prefix}{call.described}: its graph has {assignment.described}; "
                "supported: VAR_HANDLE, ASSIGN_VARIABLE"
            )
        span = assignment.described_in_full(number).as_span()
        values[variable_of(assignment, handles)] = Assignment(assignment.constant(1), span)
    return values


def _are_equal(one: np.ndarray, other: np.ndarray) -> bool:
    return (one.shape, one.dtype, one.tobytes()) == (other.shape, other.dtype, other.tobytes())
