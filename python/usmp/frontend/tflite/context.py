"""The state that converters of TFLite operators share, and the registry of converters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import tvm
from tvm import relax

from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.folded import FoldedOperators
from usmp.frontend.tflite.states import KeptTensor, KeptTensors, State, Variable
from usmp.ops import quantized
from usmp.ops.emit import constant, shape_of
from usmp.relax.limits import LimitedBuilder
from usmp.support.errors import UnsupportedModelError

Converter = Callable[["Context", TfliteOperator], None]
ConvertGraph = Callable[
    ["Context", Sequence[TfliteOperator], Sequence[TfliteTensor]], list[relax.Expr]
]
CONVERTERS: dict[str, Converter] = {}
"""Operator name, such as "CONV_2D" -> its converter for quantized tensors."""

UNQUANTIZED: dict[str, Converter] = {}
"""Operator name -> its converter for float32 and for integers without quantization."""

WITH_STORED_WEIGHT: dict[str, Converter] = {}
"""Operator name -> its converter for float32 with a weight, or table, that stays in fewer bits."""

MOVES: set[str] = set()
"""Operators whose converters take every element type: most only move elements."""


def converts(
    *names: str, moves: bool = False, quantized: bool = True
) -> Callable[[Converter], Converter]:
    """Register the converter of the operators with these names.

    Parameters
    ----------
    moves
        whether the converter takes tensors of every type, not only quantized ones.
    quantized
        True to register for quantized tensors, False for float32 and unquantized integers.
    """
    registry = CONVERTERS if quantized else UNQUANTIZED

    def register(converter: Converter) -> Converter:
        for name in names:
            if name in registry:
                raise ValueError(f"{name} has two converters")
            registry[name] = converter
        if moves:
            MOVES.update(names)
        return converter

    return register


def converts_stored_weight(name: str) -> Callable[[Converter], Converter]:
    """Register the converter of a float32 operator whose weight, or table, has fewer bits."""

    def register(converter: Converter) -> Converter:
        WITH_STORED_WEIGHT[name] = converter
        return converter

    return register


@dataclass
class Context:
    """The Relax function that converters append to.

    Parameters
    ----------
    builder
        the builder, inside a dataflow block of the function.
    values
        the Relax expression of each input and computed tensor, by the tensor's index.
    readers
        the number of operators and graph outputs that read each tensor.
    graph
        the number of the subgraph.
    kept
        the tensors that the model keeps between runs, in all its functions.
    handles
        the variable that each VAR_HANDLE names, by the index of the operator's output tensor.
    used
        the variables that the function has read or assigned so far.
    ran
        the subgraphs that CALL_ONCE has run so far.
    states
        the states that the function reads or changes, by name.
    folded
        the operators for which nothing was appended.
    inside
        the operator that runs the subgraph, for messages; empty if the application runs it.
    convert_graph
        the function that appends the operators of a subgraph (see
        `usmp.frontend.tflite.convert_graph`).
    stored
        the constants that DEQUANTIZE reads, by the index of its output. Operators read them as they
        are stored, or `value` appends the conversion, which is folded at compile time.
    """

    builder: LimitedBuilder
    values: dict[int, relax.Expr] = field(default_factory=dict)
    readers: dict[int, int] = field(default_factory=dict)
    graph: int = 0
    kept: KeptTensors = field(default_factory=KeptTensors)
    handles: Mapping[int, Variable] = field(default_factory=dict)
    used: set[Variable] = field(default_factory=set)
    ran: set[int] = field(default_factory=set)
    states: dict[str, State] = field(default_factory=dict)
    folded: FoldedOperators = field(default_factory=FoldedOperators)
    stored: dict[int, TfliteTensor] = field(default_factory=dict)
    inside: str = ""
    convert_graph: ConvertGraph | None = None

    def of_subgraph(
        self, operator: TfliteOperator, graph: int, builder: LimitedBuilder | None = None
    ) -> Context:
        """Return a context without values for a subgraph that the operator runs. Its operators are
        appended to this function, or to that of `builder`."""
        joining = self.folded.joining if builder is None else {}
        folded = FoldedOperators(joining=joining)
        inside = f"subgraph {graph}, which {operator.described} runs"
        return Context(
            self.builder if builder is None else builder,
            graph=graph,
            folded=folded,
            inside=inside,
            convert_graph=self.convert_graph,
        )

    def state(self, kept: KeptTensor) -> State:
        """Return the state of a kept tensor in this function, and add it if there is none yet.

        Raises
        ------
        UnsupportedModelError
            an operator runs the subgraph, perhaps several times.
        """
        if self.inside:
            raise UnsupportedModelError(
                f"it keeps state from one run to the next, and stands in {self.inside}; state "
                "inside of control flow is not supported: keep it in the main graph"
            )
        if kept.name not in self.states:
            ty = relax.TensorType(kept.initial.shape, str(kept.initial.dtype))
            before = relax.Var(kept.name, ty)
            self.states[kept.name] = State(kept, before, before)
        return self.states[kept.name]

    def kept_of(self, tensor: TfliteTensor, shape: Sequence[int], dtype: str) -> State:
        """Return the state that an operator keeps for its output `tensor`; it is zero at first.

        Raises
        ------
        LimitError
            the state, or all states together, exceed the limits.
        """
        self.builder.limits.check_tensor("the state", shape, np.dtype(dtype).itemsize)
        tensors, place = self.kept.of_results, (self.graph, tensor.index)
        if place not in tensors:
            tensors[place] = self.kept.add(tensor.name, np.zeros(shape, dtype))
        return self.state(tensors[place])

    def value(self, tensor: TfliteTensor) -> relax.Expr:
        """Return the Relax expression of a tensor, which may be a constant.

        Raises
        ------
        UnsupportedModelError
            the tensor is read before an operator has written it.
        """
        stored = self.stored.get(tensor.index)
        if stored is not None and tensor.index not in self.values:
            value = self.value(stored)
            self.set(tensor, dequantized(self.builder, value, stored.quantization))
        if tensor.index in self.values:
            return self.values[tensor.index]
        if tensor.data is None and tensor.table.IsVariable():
            raise UnsupportedModelError(
                f'variable tensor "{tensor.name}" is read before a recurrent operator has written '
                "it, which alone may read it first; keep what passes from run to run in variables "
                "(VAR_HANDLE), or make it an input and an output"
            )
        if tensor.data is None:
            raise UnsupportedModelError(f'tensor "{tensor.name}" is read before it is written')
        return constant(tensor.data)

    def set(self, tensor: TfliteTensor, value: relax.Expr) -> None:
        """Append `value` to the function as the value of the tensor."""
        is_bound = isinstance(value, tvm.ir.Var)
        self.values[tensor.index] = value if is_bound else self.builder.emit(value)

    def set_moved(
        self, operator: TfliteOperator, value: relax.Expr, tensor: TfliteTensor | None = None
    ) -> None:
        """Append `value`, which moves elements, as `tensor` (default: the only output).

        Raises
        ------
        UnsupportedModelError
            the file gives the tensor another shape or element type.
        """
        tensor = operator.output if tensor is None else tensor
        self.set(tensor, value)
        moved = self.values[tensor.index]
        shape, dtype = shape_of(moved), str(moved.ty.dtype)
        tensor.take_shape(shape)
        if (shape, dtype) != (tensor.shape, tensor.dtype):
            raise operator.unsupported(
                f'output "{tensor.name}" is {tensor.dtype}{list(tensor.shape)}; '
                f"the inputs and options give {dtype}{list(shape)}"
            )

    def set_known(
        self, operator: TfliteOperator, value: np.ndarray, tensor: TfliteTensor | None = None
    ) -> None:
        """Append a constant as `tensor` (default: the only output), and note its value for readers.

        Raises
        ------
        UnsupportedModelError
            the file gives the tensor another shape or element type.
        """
        tensor = operator.output if tensor is None else tensor
        self.set_moved(operator, constant(value), tensor)
        tensor.inferred.values[tensor.index] = value


def dequantized(
    builder: relax.BlockBuilder, value: relax.Expr, quantization: quantized.Quantization | None
) -> relax.Expr:
    """Return `value` converted to float32; it has integers with a quantization, or float16."""
    if quantization is None:
        return relax.op.astype(value, "float32")
    if quantization.is_per_tensor:
        return quantized.dequantize(builder, value, quantization)
    along = [1] * len(shape_of(value))
    along[quantization.axis] = -1
    scales = np.array(quantization.scales, np.float32).reshape(along)
    real = builder.emit(relax.op.astype(value, "float32"))
    return relax.op.multiply(real, constant(scales))


def reshaped(context: Context, value: relax.Expr, shape: Sequence[int]) -> relax.Expr:
    """Return `value` in another shape, unchanged if it has that shape."""
    if shape_of(value) == tuple(shape):
        return value
    if 0 in shape:
        # In `relax.op.reshape`, an extent of 0 would copy that of `value`.
        return context.builder.emit(relax.op.zeros(tuple(shape), str(value.ty.dtype)))
    return context.builder.emit(relax.op.reshape(value, tuple(shape)))
