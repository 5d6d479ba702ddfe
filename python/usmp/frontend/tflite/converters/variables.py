"""Resource variables: VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, and CALL_ONCE that sets them.

A variable is a state of the model: the Relax function takes its value before the run and gives its
value after it.
"""

from __future__ import annotations

import numpy as np

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.model import TfliteOperator, TfliteTensor, operators_of
from usmp.frontend.tflite.read import called_once
from usmp.frontend.tflite.states import State, variable_of


@converts("VAR_HANDLE", moves=True)
def convert_var_handle(context: Context, operator: TfliteOperator) -> None:
    """A handle computes nothing; it was entered before."""


@converts("READ_VARIABLE", moves=True)
def convert_read_variable(context: Context, operator: TfliteOperator) -> None:
    """The value so far; a later assignment makes another value and does not change this one."""
    context.values[operator.output.index] = _state(context, operator, operator.output).after


@converts("ASSIGN_VARIABLE", moves=True)
def convert_assign_variable(context: Context, operator: TfliteOperator) -> None:
    """From here on the variable has the value."""
    _state(context, operator, operator.input(1)).after = context.value(operator.input(1))


@converts("CALL_ONCE", moves=True)
def convert_call_once(context: Context, operator: TfliteOperator) -> None:
    """The values that a graph of assignments gives to variables before the first run."""
    graph = operator.model.Subgraphs(called_once(operator.table))
    assignments = operators_of(operator.model, graph)
    handles = context.variables.find(assignments)
    for assignment in assignments:
        if assignment.name == "VAR_HANDLE":
            continue
        if assignment.name != "ASSIGN_VARIABLE":
            raise operator.unsupported(
                f"its graph has {assignment.described}; supported: VAR_HANDLE, ASSIGN_VARIABLE"
            )
        variable = variable_of(assignment, handles)
        if variable.state is not None:
            raise operator.unsupported(f'variable "{variable.name}" is used before it')
        variable.initial = assignment.constant(1)


def _state(context: Context, operator: TfliteOperator, tensor: TfliteTensor) -> State:
    """The state behind the operator's variable, which must be of the type of `tensor`."""
    variable = variable_of(operator, context.variables.handles)
    if variable.state is None:
        initial = variable.initial
        if initial is None:
            initial = np.zeros(tensor.shape, tensor.dtype)
            initial.reshape(-1).view(np.uint8)[:] = variable.default or 0
        variable.state = context.new_state(variable.name, initial)
    initial = variable.state.initial
    if (initial.shape, str(initial.dtype)) != (tensor.shape, tensor.dtype):
        raise operator.unsupported(
            f'"{tensor.name}" is {tensor.dtype}{list(tensor.shape)}; variable "{variable.name}" '
            f"is {initial.dtype}{list(initial.shape)}"
        )
    return variable.state
