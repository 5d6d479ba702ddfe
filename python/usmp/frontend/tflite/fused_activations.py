"""Fused activations of operators that are not quantized."""

from __future__ import annotations

from tvm import relax

from usmp.frontend.tflite.options import fused_activation
from usmp.support.errors import UnsupportedModelError

_ACTIVATIONS = {
    "NONE": lambda value: value,
    "RELU": relax.op.nn.relu,
    "RELU_N1_TO_1": lambda value: relax.op.clip(value, min=-1, max=1),
    "RELU6": lambda value: relax.op.clip(value, min=0, max=6),
}


def activated(value: relax.Expr, activation: int) -> relax.Expr:
    """Return `value` after a fused activation, given by its number in the schema.

    Raises
    ------
    UnsupportedModelError
        the activation is not in `_ACTIVATIONS`: TFLite's kernels do not apply it.
    """
    name = fused_activation(activation)
    if name not in _ACTIVATIONS:
        raise UnsupportedModelError(
            f"fused activation {name} is not supported, and TFLite's kernels leave it out; make it "
            f"an operator of its own. Supported: {', '.join(_ACTIVATIONS)}"
        )
    return _ACTIVATIONS[name](value)
