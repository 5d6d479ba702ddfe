"""Operators that TVM's TFLite importer converts, on tensors that are not quantized.

It knows more operators and types than these. What it makes of some of them is not what TFLite's
kernels compute, so only those pass that have been compared with the kernels, by
`benchmarks/operators.py tflite`.
"""

from __future__ import annotations

import tflite
from tvm import relax
from tvm.relax.frontend.tflite.tflite_frontend import (
    ExprTable,
    OperatorConverter,
    TensorWrapper,
    get_tensor_name,
)

from usmp.frontend.tflite.context import Context
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.file.unknown_operators import reason_against
from usmp.frontend.tflite.fused_activations import activated
from usmp.frontend.tflite.options import (
    fused_activation,
    require_broadcast,
    require_divisor,
    require_same_shape,
    require_types,
)
from usmp.support.errors import UnsupportedModelError
from usmp.support.one_line import one_line

_REAL = ("float32",)
_INT32 = ("float32", "int32")
_INT64 = ("float32", "int32", "int64")

IMPORTED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "ATAN2",
            "AVERAGE_POOL_2D",
            "CEIL",
            "CONV_2D",
            "CONV_3D",
            "COS",
            "DEPTHWISE_CONV_2D",
            "ELU",
            "EXP",
            "FLOOR",
            "HARD_SWISH",
            "L2_NORMALIZATION",
            "L2_POOL_2D",
            "LEAKY_RELU",
            "LOG",
            "LOGISTIC",
            "LOG_SOFTMAX",
            "MAX_POOL_2D",
            "POW",
            "PRELU",
            "RELU",
            "RELU6",
            "RELU_0_TO_1",
            "RELU_N1_TO_1",
            "ROUND",
            "RSQRT",
            "SIN",
            "SQRT",
            "SQUARE",
            "TANH",
        ),
        _REAL,
    ),
    **dict.fromkeys(("ABS", "ADD_N", "DIV", "FLOOR_DIV", "SIGN"), _INT32),
    **dict.fromkeys(
        (
            "ADD",
            "GREATER",
            "GREATER_EQUAL",
            "LESS",
            "LESS_EQUAL",
            "MAXIMUM",
            "MINIMUM",
            "MUL",
            "NEG",
            "SUB",
        ),
        _INT64,
    ),
    **dict.fromkeys(("EQUAL", "NOT_EQUAL", "ONE_HOT"), (*_INT64, "bool")),
    **dict.fromkeys(("LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR"), ("bool",)),
    **dict.fromkeys(("BITWISE_XOR", "RIGHT_SHIFT"), ("int32",)),
}
"""Name of the operator -> element types of its data."""

_BROADCAST = """ADD BITWISE_XOR DIV EQUAL FLOOR_DIV GREATER GREATER_EQUAL LESS LESS_EQUAL
LOGICAL_AND LOGICAL_OR MAXIMUM MINIMUM MUL NOT_EQUAL POW PRELU RIGHT_SHIFT SUB""".split()
"""Operators of two inputs that are broadcast to one shape."""

_INPUTS = {
    **{name: (1, 1) for name in IMPORTED if name != "ADD_N"},
    **dict.fromkeys((*_BROADCAST, "ATAN2"), (2, 2)),
    **dict.fromkeys(("CONV_2D", "CONV_3D", "DEPTHWISE_CONV_2D"), (2, 3)),
    "ONE_HOT": (4, 4),
}
"""The fewest and the most inputs of an operator; ADD_N has any number."""

_OPTIONS = {
    "AVERAGE_POOL_2D": tflite.Pool2DOptions,
    "CONV_2D": tflite.Conv2DOptions,
    "CONV_3D": tflite.Conv3DOptions,
    "DEPTHWISE_CONV_2D": tflite.DepthwiseConv2DOptions,
    "L2_POOL_2D": tflite.Pool2DOptions,
    "LEAKY_RELU": tflite.LeakyReluOptions,
    "MAX_POOL_2D": tflite.Pool2DOptions,
    "ONE_HOT": tflite.OneHotOptions,
}
"""Those that operators cannot do without."""

_DATA = {"ONE_HOT": 2}
"""Operators whose first input is no data -> the input that is."""


class ImportedOperators(OperatorConverter):  # type: ignore[misc]
    """TVM's converter of single operators, on tensors that are known by their index."""

    def __init__(self, model: tflite.Model, graph: tflite.SubGraph, context: Context) -> None:
        super().__init__(model, graph, ExprTable(), context.builder)
        self.context = context

    def convert(self, operator: TfliteOperator) -> None:
        """Append one operator.

        Raises
        ------
        UnsupportedModelError
            it was not compared on these types, or TVM's importer fails.
        """
        _check_is_imported(operator)
        _check_constants(operator)
        for tensor in operator.inputs:
            if tensor is not None and tensor.data is None:
                self.context.value(tensor)
        self.exp_tab.exprs.clear()
        try:
            result = self.convert_map[operator.name](op=operator.table)
            result = None if result is None else self.bb.normalize(result)
        except UnsupportedModelError:
            raise
        except Exception as error:
            # It raises many kinds of exceptions; each means that it cannot import this.
            raise operator.unsupported(f"TVM's importer failed: {one_line(error)}") from error
        if result is None:
            self._take_named_outputs(operator)
            return
        if len(operator.outputs) == 1:
            self.context.set_moved(operator, result)
            return
        for index, tensor in enumerate(operator.outputs):
            self.context.set_moved(operator, result[index], tensor)

    def _take_named_outputs(self, operator: TfliteOperator) -> None:
        """Some converters return nothing and enter their outputs by name."""
        for tensor in operator.outputs:
            name = get_tensor_name(self.subgraph, tensor.index)
            if self.exp_tab.has_expr(name):
                self.context.set_moved(operator, self.exp_tab.get_expr(name), tensor)

    def has_expr(self, input_tensor_idx: int) -> bool:
        """Whether the tensor is computed."""
        return input_tensor_idx in self.context.values

    def get_expr(self, input_tensor_idx: int) -> relax.Expr:
        """The tensor; some converters ask without a look whether it is a constant."""
        return self.context.value(TfliteTensor(self.model, self.subgraph, input_tensor_idx))

    def get_tensors(self, tensors_idx_list: list[int]) -> list[TensorWrapper]:
        """Tensors without scale and zero point: kernels ignore those of types that are not
        quantized, and TVM would compute with them."""
        tensors: list[TensorWrapper] = super().get_tensors(tensors_idx_list)
        for tensor in tensors:
            tensor.qnn_params = None
        return tensors

    def convert_fused_activation_function(
        self, in_expr: relax.Expr, fused_activation_fn: int
    ) -> relax.Expr:
        """The expression with its fused activation, if the kernels apply it."""
        return activated(in_expr, fused_activation_fn)


def _check_is_imported(operator: TfliteOperator) -> None:
    """Check that the operator was compared with TFLite's kernels on data of its type.

    Raises
    ------
    UnsupportedModelError
        it was not.
    """
    if operator.name not in IMPORTED:
        raise operator.unsupported(reason_against(operator.name))
    fewest, most = _INPUTS.get(operator.name, (1, len(operator.inputs)))
    if not fewest <= len(operator.inputs) <= most:
        needed = str(most) if fewest == most else f"{fewest} to {most}"
        raise operator.unsupported(f"its inputs are {len(operator.inputs)} instead of {needed}")
    if operator.name in _OPTIONS:
        operator.options(_OPTIONS[operator.name])
    data = operator.input(_DATA.get(operator.name, 0))
    require_types(operator, data, "input", IMPORTED[operator.name])
    if operator.name in ("DIV", "FLOOR_DIV"):
        require_divisor(operator)
    if operator.name in _BROADCAST:
        require_broadcast(operator, data, operator.input(1))
    if operator.name == "ATAN2":
        # LiteRT's kernel broadcasts nothing.
        for tensor in (operator.input(1), operator.output):
            require_same_shape(operator, data, tensor)
    if operator.name == "L2_NORMALIZATION":
        activation = operator.options(tflite.L2NormOptions).FusedActivationFunction()
        if fused_activation(activation) != "NONE":
            raise operator.unsupported(
                f"fused activation {fused_activation(activation)} is not supported; supported: NONE"
            )


def _check_constants(operator: TfliteOperator) -> None:
    """Check that the operator reads no constant as something else than it is.

    Raises
    ------
    UnsupportedModelError
        it does.
    """
    for tensor in operator.inputs:
        if tensor is None:
            continue
        if tensor.table.Sparsity() is not None:
            raise operator.unsupported(
                f'tensor "{tensor.name}" is sparse; convert the model without sparsity'
            )
