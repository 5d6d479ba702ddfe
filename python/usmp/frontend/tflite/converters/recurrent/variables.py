"""Resource variables: VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, and CALL_ONCE that sets them.

A variable is a state of the model: each Relax function that uses it takes its value before the run
as a parameter, and returns its value after the run if it has changed.
"""

from __future__ import annotations

import numpy as np
from tvm import relax

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.file.read import called_once
from usmp.frontend.tflite.states import KeptTensor, Variable, variable_of
from usmp.ops.emit import constant
from usmp.tir.model_operator import joined_span


@converts("VAR_HANDLE", moves=True)
def convert_var_handle(context: Context, operator: TfliteOperator) -> None:
    """Append nothing, because `enter_variables` has recorded the variables of handles."""


@converts("READ_VARIABLE", moves=True)
def convert_read_variable(context: Context, operator: TfliteOperator) -> None:
    """Set the output to the variable's current value, which later assignments do not change."""
    variable, kept = _kept(context, operator, operator.output)
    value = context.state(kept).after if variable.changes else constant(kept.initial)
    context.values[operator.output.index] = value


@converts("ASSIGN_VARIABLE", moves=True)
def convert_assign_variable(context: Context, operator: TfliteOperator) -> None:
    """Set the value of the variable for the operators that follow."""
    _, kept = _kept(context, operator, operator.input(1))
    context.state(kept).after = context.value(operator.input(1))


@converts("CALL_ONCE", moves=True)
def convert_call_once(context: Context, operator: TfliteOperator) -> None:
    """Set the variables that were used before a CALL_ONCE, but only in the first run; a state
    records that this run is over. Other variables have their initial values already."""
    number = called_once(operator.table)
    late = {v: x for v, x in context.kept.initializations[number].items() if v in context.used}
    if not late:
        context.ran.add(number)
        return
    if number in context.ran or context.kept.functions > 1:
        raise operator.unsupported(f'variable "{next(iter(late)).name}" is used before it')
    context.ran.add(number)
    flag = context.state(context.kept.add(f"call_once_{number}", np.zeros((), np.uint8)))
    is_first = context.builder.emit(relax.op.equal(flag.before, constant(np.array(0, np.uint8))))
    flag.after = constant(np.array(1, np.uint8))
    context.builder.span = joined_span(
        [context.builder.span, *(assignment.span for assignment in late.values())]
    )
    for variable, value in ((v, assignment.value) for v, assignment in late.items()):
        assert variable.kept is not None
        _check_type(operator, variable, variable.kept, operator.name, value.shape, str(value.dtype))
        state = context.state(variable.kept)
        state.after = context.builder.emit(relax.op.where(is_first, constant(value), state.after))


def _kept(
    context: Context, operator: TfliteOperator, tensor: TfliteTensor
) -> tuple[Variable, KeptTensor]:
    """Return the operator's variable, which must have the type of `tensor`, and its kept tensor."""
    variable = variable_of(operator, context.handles)
    context.used.add(variable)
    if variable.kept is None:
        initial = variable.initial
        if initial is None:
            initial = np.zeros(tensor.shape, tensor.dtype)
            initial.reshape(-1).view(np.uint8)[:] = variable.default or 0
        variable.kept = context.kept.add(variable.name, initial)
    _check_type(operator, variable, variable.kept, tensor.name, tensor.shape, tensor.dtype)
    return variable, variable.kept


def _check_type(
    operator: TfliteOperator,
    variable: Variable,
    kept: KeptTensor,
    name: str,
    shape: tuple[int, ...],
    dtype: str,
) -> None:
    """Check that a value read from a variable, or assigned to it, has the variable's type."""
    initial = kept.initial
    if (initial.shape, str(initial.dtype)) != (shape, dtype):
        raise operator.unsupported(
            f'"{name}" is {dtype}{list(shape)}; variable "{variable.name}" '
            f"is {initial.dtype}{list(initial.shape)}"
        )
