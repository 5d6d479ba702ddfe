"""Convolutions and products of float32 data with constant weights that are stored in fewer bits.

In "dynamic range" quantization, the weight has integers: the operator quantizes its data in each
run and multiplies integers, as TFLite's hybrid kernels do. In "weight-only" quantization, a
DEQUANTIZE stands between the weight and the operator, which computes in float32.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tflite
from tvm import relax

from usmp.frontend.tflite.context import (
    WITH_STORED_WEIGHT,
    Context,
    converts_stored_weight,
    reshaped,
)
from usmp.frontend.tflite.converters.convolutions import conv2d_window, depthwise_conv2d_window
from usmp.frontend.tflite.converters.matmul import transposed_matrices
from usmp.frontend.tflite.converters.transposed_convolutions import transposed_sides
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.fused_activations import activated
from usmp.frontend.tflite.options import dense_shape, require_shape, require_types
from usmp.ops import stored_weights
from usmp.ops.dynamic_quantization import QuantizedSlices, quantize_slices
from usmp.ops.stored_weights import StoredWeight

_WEIGHT = 1
_DATA, _BIAS = {"TRANSPOSE_CONV": 2}, {"TRANSPOSE_CONV": 3}
_HYBRID_TYPES = {"CONV_2D": ("int8", "int4"), "FULLY_CONNECTED": ("int8", "int4")}
_INTEGERS = ("int8", "uint8", "int16", "int4")


def takes_stored_weight(context: Context, operator: TfliteOperator) -> bool:
    """Return whether an operator multiplies float32 by a constant weight in fewer bits, or gathers
    from the result of a DEQUANTIZE."""
    if operator.name not in WITH_STORED_WEIGHT:
        return False
    if operator.name == "GATHER":
        table = context.stored.get(operator.input(0).index)
        return table is not None and (
            table.quantization is None or table.quantization.is_per_tensor
        )
    data = operator.optional_input(_DATA.get(operator.name, 0))
    weight = operator.optional_input(_WEIGHT)
    if data is None or weight is None or data.dtype != "float32":
        return False
    is_hybrid = weight.dtype in _INTEGERS and weight.data is not None
    return is_hybrid or _reads_stored(context, operator, weight)


def _reads_stored(context: Context, operator: TfliteOperator, weight: TfliteTensor) -> bool:
    """Return whether an operator can read a weight as it is stored, before DEQUANTIZE."""
    stored = context.stored.get(weight.index)
    if stored is None or (operator.name == "BATCH_MATMUL" and not _is_one_matrix(weight)):
        return False
    quantization = stored.quantization
    if quantization is None:
        return stored.dtype == "float16"
    fits_channels = quantization.is_per_tensor or quantization.axis == _channel_axis(operator)
    return fits_channels and len(set(quantization.zero_points)) == 1


def _channel_axis(operator: TfliteOperator) -> int:
    """Return the axis of the weight that has the output channels."""
    rank = len(operator.input(_WEIGHT).shape)
    if operator.name == "BATCH_MATMUL":
        transposed = operator.options(tflite.BatchMatMulOptions).AdjY()
        return rank - 2 if transposed else rank - 1
    return 3 if operator.name == "DEPTHWISE_CONV_2D" else 0


def _is_one_matrix(weight: TfliteTensor) -> bool:
    return len(weight.shape) >= 2 and all(extent == 1 for extent in weight.shape[:-2])


@dataclass(frozen=True)
class _Weighted:
    """An operator with a stored weight, whose types and scales were checked."""

    context: Context
    operator: TfliteOperator
    weight: StoredWeight
    is_hybrid: bool

    @classmethod
    def of(cls, context: Context, operator: TfliteOperator) -> _Weighted:
        """Check the types and scales of an operator, and return it with its weight.

        Raises
        ------
        UnsupportedModelError
            TFLite's kernels do not support them, or read other scales than the file has.
        """
        weight = operator.input(_WEIGHT)
        stored = context.stored.get(weight.index, weight)
        is_hybrid = stored is weight
        require_types(operator, operator.output, "output", ("float32",))
        axis = _channel_axis(operator)
        if stored.dtype == "float16":
            assert stored.data is not None
            return cls(context, operator, StoredWeight(stored.data, None), is_hybrid)
        if is_hybrid:
            types = _HYBRID_TYPES.get(operator.name, ("int8",))
            require_types(operator, weight, "weight of float32 data", types)
            if not -1 < axis < len(weight.shape):
                raise operator.unsupported(f'weight "{weight.name}" has {len(weight.shape)} axes')
        scales = operator.weight_quantization(stored, axis)
        if is_hybrid and not scales.is_per_tensor and scales.axis != axis:
            raise operator.unsupported(
                f'weight "{weight.name}" has scales along axis {scales.axis}; '
                f"supported: {axis}, that of the output channels"
            )
        if is_hybrid and any(scales.zero_points):
            raise operator.unsupported(
                f'weight "{weight.name}" of float32 data has zero point {scales.zero_points[0]}; '
                "supported: 0, as TFLite's kernels leave it out"
            )
        assert stored.data is not None
        factors = np.array(scales.scales, np.float32)
        return cls(
            context, operator, StoredWeight(stored.data, factors, scales.zero_points[0]), is_hybrid
        )

    @property
    def data(self) -> relax.Expr:
        """The float32 data."""
        return self.context.value(self.operator.input(_DATA.get(self.operator.name, 0)))

    def slices(self, data: relax.Expr, *, asymmetric: bool) -> relax.Expr | QuantizedSlices:
        """Return the data, quantized slice by slice if the weight is not dequantized (hybrid)."""
        if not self.is_hybrid:
            return data
        return quantize_slices(self.context.builder, data, asymmetric=asymmetric)

    @property
    def outputs(self) -> int:
        """The number of output channels."""
        return self.operator.output.shape[-1]

    @property
    def bias(self) -> np.ndarray | None:
        """The float32 bias; the constant before a DEQUANTIZE is converted here.

        Raises
        ------
        UnsupportedModelError
            the bias is computed in each run, or of another type or shape.
        """
        index = _BIAS.get(self.operator.name, 2)
        tensor = self.operator.optional_input(index)
        if tensor is None:
            return None
        require_types(self.operator, tensor, "bias", ("float32",))
        require_shape(self.operator, tensor, "bias", (self.outputs,))
        stored = self.context.stored.get(tensor.index)
        if stored is None or stored.data is None:
            return self.operator.constant(index)
        if stored.quantization is None:
            return stored.data.astype(np.float32)
        scales = np.array(stored.quantization.scales, np.float32)
        return (stored.data.astype(np.float32) - stored.quantization.zero_points[0]) * scales

    def end(self, value: relax.Expr, activation: int = 0) -> None:
        """Append the result, in the shape of the output."""
        result = activated(self.context.builder.emit(value), activation)
        bound = self.context.builder.normalize(result)
        self.context.set(
            self.operator.output, reshaped(self.context, bound, self.operator.output.shape)
        )


@converts_stored_weight("CONV_2D")
def convert_conv2d(context: Context, operator: TfliteOperator) -> None:
    """Append a CONV_2D. TFLite quantizes the data to -127 to 127 if all scales of the weight are
    equal, else to the range of each image."""
    options = operator.options(tflite.Conv2DOptions)
    weighted = _Weighted.of(context, operator)
    weight, window = weighted.weight, conv2d_window(operator)
    scales = weight.scales
    is_per_channel = scales is not None and len(set(scales.tolist())) > 1
    if weighted.is_hybrid and not is_per_channel:
        if operator.input(0).shape[3] != weight.stored.shape[3]:
            raise operator.unsupported(
                "groups of channels whose weights have one scale: TFLite's kernel reads more "
                "scales; quantize the weight per channel, or the data too"
            )
        assert scales is not None
        weight = StoredWeight(weight.stored, scales[:1], weight.zero_point)
    data = weighted.slices(weighted.data, asymmetric=is_per_channel)
    result = stored_weights.conv2d(
        context.builder, data, weight, weighted.bias, window, channel_first=is_per_channel
    )
    weighted.end(result, options.FusedActivationFunction())


@converts_stored_weight("DEPTHWISE_CONV_2D")
def convert_depthwise_conv2d(context: Context, operator: TfliteOperator) -> None:
    """Append a DEPTHWISE_CONV_2D; TFLite quantizes each image to its range."""
    options = operator.options(tflite.DepthwiseConv2DOptions)
    weighted = _Weighted.of(context, operator)
    weight, window = weighted.weight, depthwise_conv2d_window(operator)
    count = 0 if weight.scales is None else weight.scales.size
    if weighted.is_hybrid and count != weighted.outputs:
        raise operator.unsupported(
            f"{weighted.outputs} channels whose weights have one scale: TFLite's kernel reads more "
            "scales; quantize the weight per channel, or the data too"
        )
    result = stored_weights.depthwise_conv2d(
        context.builder,
        weighted.slices(weighted.data, asymmetric=True),
        weight.in_shape(weight.stored[0]),
        weighted.bias,
        window,
    )
    weighted.end(result, options.FusedActivationFunction())


@converts_stored_weight("TRANSPOSE_CONV")
def convert_transpose_conv(context: Context, operator: TfliteOperator) -> None:
    """Append a TRANSPOSE_CONV; TFLite quantizes each image to its range."""
    options = operator.options(tflite.TransposeConvOptions)
    weighted, sides = _Weighted.of(context, operator), transposed_sides(operator)
    data = weighted.slices(weighted.data, asymmetric=True)
    result = stored_weights.transpose_conv2d(
        context.builder, data, weighted.weight, weighted.bias, sides
    )
    weighted.end(result, options.FusedActivationFunction())


@converts_stored_weight("FULLY_CONNECTED")
def convert_fully_connected(context: Context, operator: TfliteOperator) -> None:
    """Append a FULLY_CONNECTED; TFLite quantizes each row, as the options say."""
    options = operator.options(tflite.FullyConnectedOptions)
    rows, depth, _ = dense_shape(operator)
    weighted = _Weighted.of(context, operator)
    data = reshaped(context, weighted.data, (rows, depth))
    slices = weighted.slices(data, asymmetric=bool(options.AsymmetricQuantizeInputs()))
    result = stored_weights.fully_connected(context.builder, slices, weighted.weight, weighted.bias)
    weighted.end(result, options.FusedActivationFunction())


@converts_stored_weight("BATCH_MATMUL")
def convert_batch_matmul(context: Context, operator: TfliteOperator) -> None:
    """Append a product with one matrix; TFLite quantizes each row, as the options say."""
    options = operator.options(tflite.BatchMatMulOptions)
    adjoint, transposed = transposed_matrices(operator)
    weighted = _Weighted.of(context, operator)
    data, weight = operator.input(0), operator.input(1)
    batches = [extent for extent in data.shape[:-2] if extent > 1]
    if weighted.is_hybrid and (not _is_one_matrix(weight) or len(batches) > 1):
        # With more batch axes, TFLite's kernel reads the scales of other rows.
        raise operator.unsupported(
            f"float32 data of shape {list(data.shape)} and a weight of {weight.dtype} of shape "
            f"{list(weight.shape)}: supported are one matrix as weight and one batch axis"
        )
    value = weighted.data
    if adjoint:
        rank = len(data.shape)
        order = [*range(rank - 2), rank - 1, rank - 2]
        value = context.builder.emit(relax.op.permute_dims(value, order))
    matrix = weighted.weight.stored.reshape(weight.shape[-2:])
    matrix = matrix if transposed else np.ascontiguousarray(matrix.T)
    count = int(np.prod(operator.output.shape[:-1]))
    rows = reshaped(context, value, (count, matrix.shape[1]))
    slices = weighted.slices(rows, asymmetric=bool(options.AsymmetricQuantizeInputs()))
    stored = weighted.weight.in_shape(matrix)
    weighted.end(stored_weights.fully_connected(context.builder, slices, stored, None))
