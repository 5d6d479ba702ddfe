"""Builds TFLite models that keep variables; `streaming_forms.FORMS` has small ones by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from support.quantized_models.model import Spec, add_input, add_tensor, int32, random_constant
from support.tflite_builder import Graph, options, write_model
from support.tflite_signatures import assign, call_once, handle

X = (1, 2, 3)


@dataclass
class Streaming:
    """A main graph of tensors of one type, and a graph that sets variables before the first run."""

    spec: Spec
    main: Graph = field(default_factory=Graph)
    once: Graph = field(default_factory=lambda: Graph("once"))
    once_number: int = 1

    def input(self, *shape: int) -> int:
        """A tensor that the caller fills."""
        return add_input(self.main, self.spec(*(shape or X)))

    def initialize(self) -> None:
        """Set the variables here, if this is the first run."""
        call_once(self.main, self.once_number)

    def start(self, name: str, *shape: int, number: int = 0) -> int:
        """A variable that the graph of the first run sets to random numbers."""
        spec = self.spec(*(shape or X))
        if spec.dtype == "float32":
            data = np.random.default_rng(number).standard_normal(spec.shape).astype(np.float32)
        else:
            data = np.roll(random_constant(spec).data, number)
        constant = self.once.constant(data, spec.quantization)
        assign(self.once, handle(self.once, name), constant)
        return handle(self.main, name)

    def variable(self, name: str) -> int:
        """One that nothing sets before the first run."""
        return handle(self.main, name)

    def read(self, variable: int, *shape: int) -> int:
        """The content of a variable at this point."""
        value = self._tensor(shape or X)
        table = options("ReadVariableOptions")
        self.main.operator("READ_VARIABLE", [variable], [value], table)
        return value

    def assign(self, variable: int, value: int) -> None:
        """Give a variable another content."""
        assign(self.main, variable, value)

    def add(self, one: int, other: int, shape: Sequence[int] = X) -> int:
        """The sum of two tensors."""
        return self._operator("ADD", [one, other], shape, options("AddOptions"))

    def concat(self, values: Sequence[int], axis: int, *shape: int) -> int:
        """Tensors side by side."""
        table = options("ConcatenationOptions", axis=axis)
        return self._operator("CONCATENATION", values, shape, table)

    def part(
        self,
        value: int,
        begin: Sequence[int],
        end: Sequence[int],
        *shape: int,
        strides: Sequence[int] | None = None,
    ) -> int:
        """A range of each axis, or every second element of it."""
        bounds = [begin, end, strides or [1] * len(begin)]
        numbers = [add_input(self.main, int32(*bound)) for bound in bounds]
        table = options("StridedSliceOptions")
        return self._operator("STRIDED_SLICE", [value, *numbers], shape, table)

    def split(self, value: int, axis: int, count: int, *shape: int) -> list[int]:
        """Equal parts along an axis."""
        where = self.main.constant(np.array(axis, np.int32))
        parts = [self._tensor(shape) for _ in range(count)]
        table = options("SplitOptions", num_splits=count)
        self.main.operator("SPLIT", [where, value], parts, table)
        return parts

    def split_by(self, value: int, sizes: Sequence[int], axis: int, *shape: int) -> list[int]:
        """Parts of different sizes along an axis; `shape` is that of the value."""
        numbers = [
            add_input(self.main, int32(*sizes)),
            self.main.constant(np.array(axis, np.int32)),
        ]
        shapes = [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
        parts = [self._tensor(part) for part in shapes]
        table = options("SplitVOptions", num_splits=len(sizes))
        self.main.operator("SPLIT_V", [value, *numbers], parts, table)
        return parts

    def transpose(self, value: int, order: Sequence[int], *shape: int) -> int:
        """Axes in another order."""
        numbers = add_input(self.main, int32(*order))
        return self._operator("TRANSPOSE", [value, numbers], shape, options("TransposeOptions"))

    def reshape(self, value: int, *shape: int) -> int:
        """Another shape."""
        numbers = add_input(self.main, int32(*shape))
        table = options("ReshapeOptions", new_shape=list(shape))
        return self._operator("RESHAPE", [value, numbers], shape, table)

    def pad(self, value: int, amounts: Sequence[Sequence[int]], *shape: int) -> int:
        """Zeros around it."""
        numbers = self.main.constant(np.array(amounts, np.int32))
        return self._operator("PAD", [value, numbers], shape, options("PadOptions"))

    def constant(self) -> int:
        """Random numbers in the main graph."""
        if self.spec.dtype == "float32":
            return self.main.constant(np.full(X, 0.25, np.float32))
        return add_input(self.main, random_constant(self.spec(*X)))

    def finish(self, *outputs: int) -> bytes:
        """The file."""
        self.main.output(*outputs)
        return write_model(self.main, self.once)

    def _tensor(self, shape: Sequence[int]) -> int:
        return add_tensor(self.main, self.spec(*shape))

    def _operator(self, code: str, inputs: Sequence[int], shape: Sequence[int], table) -> int:
        value = self._tensor(shape)
        self.main.operator(code, inputs, [value], table)
        return value
