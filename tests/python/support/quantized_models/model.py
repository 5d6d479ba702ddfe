"""What a model of the catalog is, and models of one operator in one line."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from support.tflite_builder import ABSENT, Graph, Options, Quantization, per_tensor, write_model

ACTIVATIONS = {"NONE": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3}
PADDINGS = {"SAME": 0, "VALID": 1}

Oracle = Literal["micro", "litert"]


@dataclass(frozen=True)
class QuantizedModel:
    """A model file, made when it is asked for, and the runtime whose outputs it must have."""

    name: str
    make: Callable[[], bytes]
    oracle: Oracle = "micro"


def models(
    prefix: str, make: Callable[..., bytes], cases: Mapping[str, object], oracle: Oracle = "micro"
) -> list[QuantizedModel]:
    """One model a case: `make(case)`, or `make(*case)` if the case is a tuple."""
    return [
        QuantizedModel(
            f"{prefix}_{label}",
            partial(make, *(case if isinstance(case, tuple) else (case,))),
            oracle,
        )
        for label, case in cases.items()
    ]


@dataclass(frozen=True)
class Spec:
    """A tensor without content; not quantized if the scale is 0."""

    shape: tuple[int, ...]
    scale: float = 0.05
    zero_point: int = 0
    dtype: str = "int8"

    @property
    def quantization(self) -> Quantization | None:
        return per_tensor(self.scale, self.zero_point) if self.scale else None

    def __call__(self, *shape: int) -> Spec:
        """The same type and quantization with another shape."""
        return Spec(shape, self.scale, self.zero_point, self.dtype)


@dataclass(frozen=True)
class Constant:
    """A tensor with content."""

    data: np.ndarray
    quantization: Quantization | None = None
    dtype: str | None = None


def int32(*values: int) -> Constant:
    """A list of int32."""
    return Constant(np.array(values, np.int32))


def scalar(value: int) -> Constant:
    """One int32 without an axis."""
    return Constant(np.array(value, np.int32))


def random_constant(spec: Spec) -> Constant:
    """Integers from the whole range of the type."""
    limits = np.iinfo(spec.dtype)
    data = generator_of(spec).integers(
        limits.min, limits.max, spec.shape, np.dtype(spec.dtype), endpoint=True
    )
    return Constant(np.asarray(data), spec.quantization)


def generator_of(case: object) -> np.random.Generator:
    """A generator that is the same for cases that print the same."""
    return np.random.default_rng(zlib.crc32(repr(case).encode()))


def add_input(graph: Graph, value: Spec | Constant | None) -> int:
    """Declare a graph input or a constant; the index of what is absent is -1."""
    if value is None:
        return ABSENT
    if isinstance(value, Spec):
        return graph.input(value.shape, value.dtype, value.quantization)
    return graph.constant(value.data, value.quantization, value.dtype)


def add_tensor(graph: Graph, spec: Spec) -> int:
    """Declare a tensor that an operator writes."""
    return graph.tensor(spec.shape, spec.dtype, spec.quantization)


def one_operator(
    code: str,
    inputs: Sequence[Spec | Constant | None],
    outputs: Sequence[Spec],
    options: Options | None = None,
) -> bytes:
    """A model of one operator; every input without content is a graph input."""
    graph = Graph()
    arguments = [add_input(graph, value) for value in inputs]
    results = [add_tensor(graph, spec) for spec in outputs]
    graph.operator(code, arguments, results, options)
    graph.output(*results)
    return write_model(graph)
