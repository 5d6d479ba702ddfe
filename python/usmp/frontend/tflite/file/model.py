"""A TFLite graph as its operators' converters see it: tensors with types, values, quantization."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import tflite

from usmp.frontend.tflite.file.read import read_options, tensor_name, vector
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.support.errors import UnsupportedModelError
from usmp.tir.model_operator import ModelOperator, model_operator

_DTYPES = {
    tflite.TensorType.FLOAT32: "float32",
    tflite.TensorType.FLOAT16: "float16",
    tflite.TensorType.INT32: "int32",
    tflite.TensorType.UINT8: "uint8",
    tflite.TensorType.INT64: "int64",
    tflite.TensorType.BOOL: "bool",
    tflite.TensorType.INT16: "int16",
    tflite.TensorType.INT8: "int8",
    tflite.TensorType.FLOAT64: "float64",
    tflite.TensorType.UINT64: "uint64",
    tflite.TensorType.UINT32: "uint32",
    tflite.TensorType.UINT16: "uint16",
    tflite.TensorType.INT4: "int4",
    tflite.TensorType.COMPLEX64: "complex64",
    tflite.TensorType.RESOURCE: "resource",
}
_QUANTIZED = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "int4")
_TYPE_NAMES = {number: name for name, number in vars(tflite.TensorType).items() if name.isupper()}
_OPTION_NAMES = {number: name for name, number in vars(tflite.BuiltinOptions).items()}


@dataclass
class Inferred:
    """Values and shapes of a graph's tensors that are known before any run, by tensor index.

    Parameters
    ----------
    values
        the values that operators compute from shapes.
    shapes
        the shapes of tensors whose extents the file leaves open.
    """

    values: dict[int, np.ndarray] = field(default_factory=dict)
    shapes: dict[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class TfliteTensor:
    """A tensor of the graph.

    Parameters
    ----------
    index
        its index in the graph's list of tensors.
    inferred
        values and shapes that are inferred, for all tensors of the graph.
    """

    model: tflite.Model
    graph: tflite.SubGraph
    index: int
    inferred: Inferred = field(default_factory=Inferred)

    @cached_property
    def table(self) -> tflite.Tensor:
        """The tensor's table in the file."""
        return self.graph.Tensors(self.index)

    @cached_property
    def name(self) -> str:
        """The name in the file, or one made of the index."""
        return tensor_name(self.graph, self.index)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents; empty for a scalar."""
        return self.inferred.shapes.get(self.index, self._stored_shape)

    @cached_property
    def _stored_shape(self) -> tuple[int, ...]:
        """The extents in the file."""
        return tuple(vector(self.table, "Shape"))

    @cached_property
    def open_axes(self) -> tuple[int, ...]:
        """The axes that the file leaves open, although it stores an extent for each."""
        extents = vector(self.table, "ShapeSignature")
        if len(extents) != len(self._stored_shape):
            return ()
        return tuple(axis for axis, extent in enumerate(extents) if extent < 0)

    def take_shape(self, shape: tuple[int, ...]) -> None:
        """Set the shape that follows from the inputs, unless the file contradicts it."""
        closed = [axis for axis in range(len(shape)) if axis not in self.open_axes]
        stored = self._stored_shape
        if len(shape) != len(stored) or min(shape, default=0) < 0:
            return
        if all(shape[axis] == stored[axis] for axis in closed):
            self.inferred.shapes[self.index] = shape

    @cached_property
    def dtype(self) -> str:
        """The element type.

        Raises
        ------
        UnsupportedModelError
            tensors of this type are not supported.
        """
        number = self.table.Type()
        if number == tflite.TensorType.STRING:
            raise UnsupportedModelError(
                f'tensor "{self.name}" holds text (type STRING), and only numbers can be planned; '
                "turn text into numbers in the application, and begin the model there"
            )
        if number not in _DTYPES:
            raise UnsupportedModelError(
                f'tensor "{self.name}" is of type {_TYPE_NAMES.get(number, number)}; '
                f"supported: {', '.join(_DTYPES.values())}"
            )
        return _DTYPES[number]

    @property
    def data(self) -> np.ndarray | None:
        """The values of a constant; None if they are not known before the run."""
        return self.inferred.values.get(self.index, self._stored)

    @property
    def is_computed(self) -> bool:
        """Whether the values were computed from shapes during the import."""
        return self.index in self.inferred.values

    @cached_property
    def _stored(self) -> np.ndarray | None:
        """The values in the file."""
        buffer = self.model.Buffers(self.table.Buffer())
        if self.table.IsVariable() or (buffer.DataLength() == 0 and 0 not in self.shape):
            return None
        if self.table.Sparsity() is not None:
            raise UnsupportedModelError(
                f'tensor "{self.name}" is sparse; convert the model without sparsity'
            )
        content = np.array(buffer.DataAsNumpy() if buffer.DataLength() else [], np.uint8)
        if self.dtype == "int4":
            return _unpack_int4(content, self.shape)
        return content.view(self.dtype).reshape(self.shape)

    @property
    def is_constant(self) -> bool:
        """Whether the file has the values."""
        return bool(self.model.Buffers(self.table.Buffer()).DataLength() > 0)

    @cached_property
    def quantization(self) -> Quantization | None:
        """The scales and zero points; None if the file has no scales or the elements are floats.

        Raises
        ------
        UnsupportedModelError
            there are scales and no zero points.
        """
        table = self.table.Quantization()
        scales = [] if table is None else vector(table, "Scale")
        if not scales or self.dtype not in _QUANTIZED:
            return None
        zero_points = vector(table, "ZeroPoint")
        if not zero_points:
            raise UnsupportedModelError(
                f'tensor "{self.name}" has {len(scales)} quantization scales and no zero point'
            )
        if len(zero_points) == 1:
            zero_points *= len(scales)
        return Quantization(
            "int8" if self.dtype == "int4" else self.dtype,
            tuple(scales),
            tuple(zero_points),
            int(table.QuantizedDimension()),
        )


def _unpack_int4(content: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the elements as int8; a byte has two, the first in its low half."""
    signed = content.view(np.int8)
    pairs = np.stack([np.left_shift(signed, 4) >> 4, signed >> 4], axis=-1)
    return pairs.reshape(-1)[: int(np.prod(shape))].reshape(shape)


@dataclass(frozen=True, eq=False)
class TfliteOperator:
    """An operator of the graph.

    Parameters
    ----------
    position
        its number in the order of execution.
    name
        its name in the schema, such as "CONV_2D".
    inputs
        its inputs; None where an optional input is not given.
    """

    position: int
    name: str
    inputs: tuple[TfliteTensor | None, ...]
    outputs: tuple[TfliteTensor, ...]
    table: tflite.Operator
    model: tflite.Model

    def options(self, kind: type) -> Any:
        """Return the builtin options, read as `kind`.

        Raises
        ------
        UnsupportedModelError
            the operator has no options, or those of another operator.
        """
        if self.table.BuiltinOptions() is None:
            raise self.unsupported("it has no options")
        number = self.table.BuiltinOptionsType()
        if number != getattr(tflite.BuiltinOptions, kind.__name__):
            raise self.unsupported(
                f"it has options of type {_OPTION_NAMES.get(number, number)}, not {kind.__name__}"
            )
        options = read_options(self.table, kind)
        if options is None:
            raise self.unsupported("the file is damaged: its options point outside the file")
        return options

    def input(self, index: int) -> TfliteTensor:
        """Return a required input.

        Raises
        ------
        UnsupportedModelError
            the input is not given.
        """
        tensor = self.optional_input(index)
        if tensor is None:
            raise self.unsupported(f"input {index} is missing")
        return tensor

    def optional_input(self, index: int) -> TfliteTensor | None:
        """Return an input, or None if it is not given."""
        return self.inputs[index] if index < len(self.inputs) else None

    def constant(self, index: int) -> np.ndarray:
        """Return the values of an input that must be known at compile time.

        Raises
        ------
        UnsupportedModelError
            the input is missing, or computed at run time.
        """
        tensor = self.input(index)
        if tensor.data is None:
            raise self.unsupported(
                f'input {index}, "{tensor.name}", is computed; only a constant is supported'
            )
        return tensor.data

    def integers(self, index: int) -> np.ndarray:
        """Return a constant input of int32 or int64, such as axes or sizes.

        Raises
        ------
        UnsupportedModelError
            the input is missing, computed at run time, or of another type.
        """
        tensor = self.input(index)
        if tensor.dtype not in ("int32", "int64"):
            raise self.unsupported(
                f'input {index}, "{tensor.name}", is of type {tensor.dtype}; '
                "supported: int32, int64"
            )
        return self.constant(index)

    @property
    def output(self) -> TfliteTensor:
        """The only output.

        Raises
        ------
        UnsupportedModelError
            the operator has several outputs, or none.
        """
        if len(self.outputs) != 1:
            raise self.unsupported(f"it has {len(self.outputs)} outputs, not one")
        return self.outputs[0]

    def quantization(self, tensor: TfliteTensor) -> Quantization:
        """Return the scale and zero point of an activation.

        Raises
        ------
        UnsupportedModelError
            the file has none, or one for each channel, or one that is 0 or out of range.
        """
        quantization = tensor.quantization
        if quantization is None:
            raise self.unsupported(f'tensor "{tensor.name}" has no scale and zero point')
        if not quantization.is_per_tensor:
            raise self.unsupported(
                f'tensor "{tensor.name}" has {len(quantization.scales)} scales; '
                "activations are quantized per tensor"
            )
        self._check(tensor, quantization)
        return quantization

    def weight_quantization(self, tensor: TfliteTensor, axis: int) -> Quantization:
        """Return the scales of a weight: one, or one for each index of `axis`.

        Raises
        ------
        UnsupportedModelError
            the file has another number of scales, a scale of 0, or zero points that are out of
            range or, with several scales, not 0.
        """
        quantization = tensor.quantization
        if quantization is None:
            raise self.unsupported(f'weight "{tensor.name}" has no scale')
        self._check(tensor, quantization)
        if not quantization.is_per_tensor:
            expected = tensor.shape[axis]
            if len(quantization.scales) != expected:
                raise self.unsupported(
                    f'weight "{tensor.name}" has {len(quantization.scales)} scales for '
                    f"{expected} output channels"
                )
            if any(quantization.zero_points):
                raise self.unsupported(
                    f'weight "{tensor.name}" has scales per channel and zero points other than 0'
                )
        return quantization

    def _check(self, tensor: TfliteTensor, quantization: Quantization) -> None:
        if any(not scale > 0 for scale in quantization.scales):
            raise self.unsupported(f'tensor "{tensor.name}" has a quantization scale of 0')
        limits = np.iinfo(quantization.dtype)
        for zero_point in quantization.zero_points:
            if not limits.min <= zero_point <= limits.max:
                raise self.unsupported(
                    f'tensor "{tensor.name}" has zero point {zero_point}, '
                    f"which {quantization.dtype} cannot hold"
                )

    def described_in_full(self, graph: int) -> ModelOperator:
        """Return the operator as reports show it, with the number of its subgraph."""
        return model_operator(
            self.position,
            self.name,
            [t.name for t in self.inputs if t is not None and not t.is_constant],
            [(t.name, _DTYPES.get(t.table.Type(), "unknown"), t.shape) for t in self.outputs],
            graph=graph,
        )

    def unsupported(self, reason: str) -> UnsupportedModelError:
        """Return an error that names the operator, its position and its outputs."""
        return UnsupportedModelError(f"{self.described}: {reason}")

    @property
    def described(self) -> str:
        """The name, position and outputs of the operator, for messages."""
        outputs = ", ".join(f'"{tensor.name}"' for tensor in self.outputs)
        return f"operator {self.position} ({self.name}, output {outputs or 'none'})"
