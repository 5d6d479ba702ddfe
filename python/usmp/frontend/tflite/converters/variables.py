"""Resource variables: VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, and CALL_ONCE that sets them.

A variable is a state of the model: each Relax function that uses it takes its value before the run,
and gives its value after it.
"""

from __future__ import annotations

import numpy as np

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.read import called_once
from usmp.frontend.tflite.states import KeptTensor, Variable, variable_of
from usmp.ops.emit import constant


@converts("VAR_HANDLE", moves=True)
def convert_var_handle(context: Context, operator: TfliteOperator) -> None:
    """A handle computes nothing; it was entered before."""


@converts("READ_VARIABLE", moves=True)
def convert_read_variable(context: Context, operator: TfliteOperator) -> None:
    """The value so far; a later assignment makes another value and does not change this one."""
    variable, kept = _kept(context, operator, operator.output)
    value = context.state(kept).after if variable.changes else constant(kept.initial)
    context.values[operator.output.index] = value


@converts("ASSIGN_VARIABLE", moves=True)
def convert_assign_variable(context: Context, operator: TfliteOperator) -> None:
    """From here on the variable has the value."""
    _, kept = _kept(context, operator, operator.input(1))
    context.state(kept).after = context.value(operator.input(1))


@converts("CALL_ONCE", moves=True)
def convert_call_once(context: Context, operator: TfliteOperator) -> None:
    """What it assigns was entered before, as what the variables start from."""
    assigned = context.kept.initializations[called_once(operator.table)]
    for variable in context.used & assigned.keys():
        raise operator.unsupported(f'variable "{variable.name}" is used before it')


def _kept(
    context: Context, operator: TfliteOperator, tensor: TfliteTensor
) -> tuple[Variable, KeptTensor]:
    """The operator's variable, which must be of the type of `tensor`, and what is kept of it."""
    variable = variable_of(operator, context.handles)
    context.used.add(variable)
    if variable.kept is None:
        initial = variable.initial
        if initial is None:
            initial = np.zeros(tensor.shape, tensor.dtype)
            initial.reshape(-1).view(np.uint8)[:] = variable.default or 0
        variable.kept = context.kept.add(variable.name, initial)
    initial = variable.kept.initial
    if (initial.shape, str(initial.dtype)) != (tensor.shape, tensor.dtype):
        raise operator.unsupported(
            f'"{tensor.name}" is {tensor.dtype}{list(tensor.shape)}; variable "{variable.name}" '
            f"is {initial.dtype}{list(initial.shape)}"
        )
    return variable, variable.kept
