"""What an integer operator computes, as data that stays with its PrimFunc.

Accelerators, which compute it in another way, schedules and reports read it: the name of a PrimFunc
is not theirs to parse, and its body says how something is computed, not what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from tvm import relax, tirx

from usmp.objects.attributes import OPERATOR_ATTR, OPERATORS_ATTR
from usmp.ops.quantization import Quantization

KINDS: dict[str, str] = {
    "abs": "|x|",
    "add": "sum of two tensors, broadcast",
    "add_n": "sum of any number of tensors of one quantization",
    "arg_max": "index of the first greatest element along an axis",
    "arg_min": "index of the first least element along an axis",
    "average_pool": "mean of the elements under a window",
    "batch_matmul": "product of two computed matrices, batched",
    "batch_to_space": "batches to blocks of an image",
    "clamp": "x within limits, at the same scale",
    "conv2d": "convolution, grouped or not",
    "cumulative_sum": "sums of an element and those before it along an axis",
    "depthwise_conv2d": "convolution of each channel by itself",
    "dequantize": "integers to float32",
    "divide": "quotient of two tensors, broadcast",
    "elu": "x, or exp(x) - 1 where x is negative",
    "equal": "comparison of two tensors, broadcast, to bool",
    "exp": "exp(x)",
    "fully_connected": "product with a constant matrix",
    "gather": "slices at computed indices along an axis",
    "gather_nd": "slices at computed positions on the first axes",
    "gelu": "x times the normal distribution at x",
    "greater": "comparison of two tensors, broadcast, to bool",
    "greater_equal": "comparison of two tensors, broadcast, to bool",
    "hard_swish": "x * relu6(x + 3) / 6",
    "l2_normalize": "rows over their length",
    "leaky_relu": "x, or alpha * x where x is negative",
    "less": "comparison of two tensors, broadcast, to bool",
    "less_equal": "comparison of two tensors, broadcast, to bool",
    "log": "natural logarithm",
    "log_softmax": "logarithm of the softmax over the last axis",
    "logistic": "1 / (1 + exp(-x))",
    "lstm": "long short-term memory over a sequence",
    "max_pool": "greatest element under a window",
    "maximum": "greater element of two tensors, broadcast",
    "mean": "mean over some axes",
    "minimum": "lesser element of two tensors, broadcast",
    "mirror_pad": "padding with the data's own elements",
    "multiply": "product of two tensors, broadcast",
    "not_equal": "comparison of two tensors, broadcast, to bool",
    "prelu": "x, or slope * x where x is negative, a slope for each element or channel",
    "quantize": "float32 to integers",
    "reduce_max": "greatest element over some axes",
    "reduce_min": "least element over some axes",
    "relu": "x within limits, at another scale",
    "requantize": "x at another scale",
    "rescale_to_join": "x at the scale of what it is concatenated with",
    "resize_bilinear": "image in another size, means of four neighbors",
    "resize_nearest": "image in another size, nearest elements",
    "rsqrt": "1 / sqrt(x)",
    "running": "elements combined with those before them along an axis",
    "softmax": "softmax over the last axis",
    "space_to_batch": "blocks of an image to batches",
    "sqrt": "square root, cut to an integer",
    "squared_difference": "(x - y)**2, broadcast",
    "subtract": "difference of two tensors, broadcast",
    "sum": "sum over some axes",
    "svdf": "singular value decomposition filter: the sums over time",
    "svdf_state": "singular value decomposition filter: the results of the features, remembered",
    "table": "a function of one 8-bit tensor, by its 256 results",
    "tanh": "hyperbolic tangent",
    "transpose_conv2d": "transposed convolution",
    "update_slice": "a tensor, of which a slice is replaced",
}
"""Every kind of operator, and what it computes; `x` is the real number that an integer stands for.
A model's C has functions of these names, fused ones after all that they compute."""


WEIGHTED = ("conv2d", "depthwise_conv2d", "fully_connected", "transpose_conv2d")
"""The kinds with constant weights, whose channels the axis of the second input has."""


@dataclass(frozen=True)
class QuantizedOp:
    """An integer operator.

    Parameters
    ----------
    kind
        one of `KINDS`.
    inputs
        the quantization of each tensor that it computes from, in the order in which its function in
        `usmp.ops.quantized` takes them, constant ones too but for biases and tables.
    outputs
        the same of what it gives.
    parameters
        what else it was made from, by name: strides, axes, limits, rounding; numbers, texts, and
        lists of them.

    Raises
    ------
    ValueError
        another kind.
    """

    kind: str
    inputs: tuple[Quantization, ...]
    outputs: tuple[Quantization, ...]
    parameters: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse kinds that `KINDS` does not list."""
        if self.kind not in KINDS:
            raise ValueError(
                f'no operator is of kind "{self.kind}"; list it in KINDS of usmp.ops.record'
            )

    def as_json(self) -> dict[str, Any]:
        """The record as JSON has it, and as an attribute of a PrimFunc holds it."""
        return {
            "kind": self.kind,
            "inputs": [quantization_as_json(q) for q in self.inputs],
            "outputs": [quantization_as_json(q) for q in self.outputs],
            "parameters": _plain(self.parameters),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> QuantizedOp:
        """The record that `as_json` gave, also if an attribute held it since."""
        given = _plain(value)
        return cls(
            given["kind"],
            tuple(_quantization(q) for q in given["inputs"]),
            tuple(_quantization(q) for q in given["outputs"]),
            given["parameters"],
        )


Steps: TypeAlias = "tuple[tuple[QuantizedOp, ...], ...]"
"""What a fused PrimFunc computes, one integer operator after the other. A step has several records
if operators share the code: they compute the same integers, at other scales or by other tables."""


def operator_of(func: tirx.PrimFunc) -> QuantizedOp | None:
    """The record of a PrimFunc that is one operator, before fusion; None if it has none."""
    held = func.attrs.get(OPERATOR_ATTR) if func.attrs else None
    return None if held is None else QuantizedOp.from_json(held)


def operators_of(func: tirx.PrimFunc) -> Steps:
    """The integer operators that a PrimFunc computes, fused or not; none if it has no record."""
    single = operator_of(func)
    if single is not None:
        return ((single,),)
    steps = func.attrs.get(OPERATORS_ATTR) if func.attrs else None
    return tuple(tuple(QuantizedOp.from_json(held) for held in step) for step in steps or ())


def with_operators(func: tirx.PrimFunc, steps: Iterable[Sequence[QuantizedOp]]) -> tirx.PrimFunc:
    """`func` with these steps and no other record."""
    held = [[operator.as_json() for operator in step] for step in steps]
    if func.attrs and OPERATOR_ATTR in func.attrs:
        func = func.without_attr(OPERATOR_ATTR)
    return func.with_attr(OPERATORS_ATTR, held) if held else func


def stored_as(
    tensor: relax.Expr | np.ndarray, quantization: Quantization | None = None
) -> Quantization:
    """The quantization of a tensor; if it is not known, the type."""
    if quantization is not None:
        return quantization
    dtype = tensor.dtype if isinstance(tensor, np.ndarray) else tensor.ty.dtype
    return Quantization.unscaled(str(dtype))


def quantization_as_json(quantization: Quantization) -> dict[str, Any]:
    """Type, scales, zero points and axis by name."""
    return {
        "dtype": quantization.dtype,
        "scales": [float(scale) for scale in quantization.scales],
        "zero_points": [int(zero_point) for zero_point in quantization.zero_points],
        "axis": int(quantization.axis),
    }


def _quantization(value: Mapping[str, Any]) -> Quantization:
    scales, zero_points = tuple(value["scales"]), tuple(value["zero_points"])
    return Quantization(value["dtype"], scales, zero_points, value["axis"])


def _plain(value: Any) -> Any:
    """A value of Python, NumPy or TVM as JSON has it."""
    if isinstance(value, bool | str):
        return bool(value) if isinstance(value, bool) else str(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(element) for name, element in value.items()}
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, int | float):
        return value
    return [_plain(element) for element in value]
