"""Variable tensors, which recurrent operators keep from one run to the next."""

from __future__ import annotations

import numpy as np
from tvm import relax

from usmp.frontend.tflite.context import Context
from usmp.frontend.tflite.file.model import TfliteOperator
from usmp.frontend.tflite.options import require_shape
from usmp.frontend.tflite.states import State


def variable_tensor(
    context: Context, operator: TfliteOperator, index: int, shape: tuple[int, ...]
) -> State:
    """Return the state of an input that is a variable tensor.

    Raises
    ------
    UnsupportedModelError
        the tensor is not variable, or has another shape.
    """
    tensor = operator.input(index)
    if not tensor.table.IsVariable():
        raise operator.unsupported(
            f'input {index}, "{tensor.name}", is not a variable tensor, which the state must be'
        )
    require_shape(operator, tensor, "state", shape)
    tensors, place = context.kept.of_graphs, (context.graph, tensor.index)
    if place not in tensors:
        # The reference runtime starts int8 states at the zero point, and others at 0.
        start = operator.quantization(tensor).zero_point if tensor.dtype == "int8" else 0
        initial = np.full(shape, start, tensor.dtype)
        tensors[place] = context.kept.add(tensor.name, initial)
    return context.state(tensors[place])


def assign_variable(
    context: Context, operator: TfliteOperator, index: int, state: State, value: relax.Expr
) -> None:
    """Set the value of a state, also for later readers of its tensor."""
    state.after = context.values[operator.input(index).index] = value
