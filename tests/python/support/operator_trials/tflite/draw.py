"""What generators of TFLite trials draw from, and how their models are run in the references."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from support.litert import OptimizedReference, Reference
from support.micro import Micro
from support.operator_trials.trial import NoReferenceError, Tolerance, Trial
from support.quantized_models.model import Constant, Spec, one_operator
from support.tflite_builder import Options
from support.tflite_differences import in_child
from support.tflite_tensors import GraphTensor, extreme_inputs, graph_tensors, random_inputs

QUANTIZED = ("int8", "uint8", "int16")
TYPES = ("float32", "int32", "int64", "bool", *QUANTIZED)
DEFAULT_TOLERANCE = Tolerance()
RANDOM_RUNS = 5
LARGEST_RANK = 5


@dataclass(frozen=True)
class Model:
    """One operator; an input without content is an input of the model.

    Parameters
    ----------
    limits
        the least and the largest value of an input, by its number among the operator's;
        others are drawn from the whole of their type, and from numbers near zero.
    is_for_litert
        tflite-micro runs it, but wrongly.
    """

    inputs: Sequence[Spec | Constant | None]
    outputs: Sequence[Spec]
    options: Options | None = None
    limits: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    tolerance: Tolerance = DEFAULT_TOLERANCE
    is_for_litert: bool = False


class Draw:
    """Random shapes, types and numbers.

    Parameters
    ----------
    of_type
        what `dtype` gives where it is among the types; anything if "".
    """

    def __init__(self, random: Random, of_type: str = "") -> None:
        self.random = random
        self.of_type = of_type
        self.generator = np.random.default_rng(random.getrandbits(64))

    def number(self, low: int, high: int) -> int:
        """From `low` to `high`, both possible."""
        return self.random.randint(low, high)

    def flag(self, share: float = 0.5) -> bool:
        return self.random.random() < share

    def choice(self, values: Sequence[Any]) -> Any:
        return self.random.choice(values)

    def dtype(self, types: Sequence[str] = TYPES) -> str:
        """A type; the first is as likely as the others together."""
        if self.of_type in types:
            return self.of_type
        return types[0] if self.flag() else self.random.choice(types)

    def shape(self, low: int = 1, high: int = LARGEST_RANK, most: int = 6) -> tuple[int, ...]:
        """Extents of `low` to `high` axes, of about a thousand elements at most."""
        rank = self.number(low, high)
        most = min(most, round(1500 ** (1 / max(rank, 1))))
        return tuple(self.number(1, most) for _ in range(rank))

    def spec(self, shape: Sequence[int], dtype: str) -> Spec:
        """Quantized, if the type is one of those that are."""
        if dtype not in QUANTIZED:
            return Spec(tuple(shape), 0, 0, dtype)
        if dtype == "int16":
            return Spec(tuple(shape), self.scale(1e-5, 1e-2), 0, dtype)
        limits = np.iinfo(dtype)
        return Spec(tuple(shape), self.scale(2e-3, 0.5), self.number(limits.min, limits.max), dtype)

    def scale(self, low: float, high: float) -> float:
        return float(np.float32(math.exp(self.random.uniform(math.log(low), math.log(high)))))

    def axis(self, rank: int) -> int:
        """Counted from the front or the end."""
        return self.number(-rank, rank - 1)

    def constant(self, spec: Spec) -> Constant:
        """Normal floats; integers from the whole of their type, or near zero."""
        tensor = GraphTensor("", spec.shape, np.dtype(spec.dtype), 0)
        seed = self.random.getrandbits(32)
        values = random_inputs([tensor], seed)[""]
        if spec.dtype in ("int32", "int64"):
            values = self.generator.integers(-9, 9, spec.shape, spec.dtype, endpoint=True)
        return Constant(np.asarray(values), spec.quantization)

    def broadcast(self, rank: tuple[int, int] = (1, LARGEST_RANK)) -> list[tuple[int, ...]]:
        """Two shapes that go together; often the same."""
        shape = self.shape(*rank)
        if self.flag(0.4):
            return [shape, shape]
        shapes = [
            tuple(1 if self.flag(0.3) else extent for extent in shape),
            tuple(1 if self.flag(0.3) else extent for extent in shape)[
                self.number(0, len(shape)) :
            ],
        ]
        self.random.shuffle(shapes)
        return shapes


Draft = Callable[[Draw], Model]
"""What draws one model of an operator."""


def generator_of(operator: str, draft: Draft, of_type: str = "") -> Callable[[Random], Trial]:
    """The trials of an operator, on data of one type or any."""

    def generate(random: Random) -> Trial:
        model = draft(Draw(random, of_type))
        content = one_operator(operator, model.inputs, model.outputs, model.options)
        return trial(operator, content, describe(model), model, random)

    return generate


def describe(model: Model) -> str:
    """Options, types and shapes."""

    def of(value: Spec | Constant | None) -> str:
        if value is None:
            return "none"
        if isinstance(value, Constant):
            shown = value.data.tolist() if value.data.size <= 8 else "..."
            return f"constant {value.data.dtype}{list(value.data.shape)} {shown}"
        if not value.scale:
            return f"{value.dtype}{list(value.shape)}"
        return f"{value.dtype}{list(value.shape)} ({value.scale:.6g}, {value.zero_point})"

    fields = {} if model.options is None else model.options.fields
    shown = ", ".join(f"{name}={value}" for name, value in fields.items())
    inputs, outputs = ("; ".join(map(of, side)) for side in (model.inputs, model.outputs))
    return f"({shown}) {inputs} -> {outputs}"


def trial(
    operator: str,
    content: bytes,
    description: str,
    model: Model,
    random: Random,
    runs: list[dict[str, np.ndarray]] | None = None,
) -> Trial:
    """A trial of a model file; its runs draw from `random` if none are given."""
    runs = runs or _runs(content, model, random)
    references = (Reference, OptimizedReference)
    expected = _expected(content, runs, references if model.is_for_litert else (Micro, *references))
    return Trial(
        "tflite",
        operator,
        description,
        content,
        runs,
        lambda inputs: next(expected),
        model.tolerance,
    )


def _runs(content: bytes, model: Model, random: Random) -> list[dict[str, np.ndarray]]:
    tensors, _ = graph_tensors(content)
    limits = {}
    for number, value in enumerate(v for v in model.inputs if isinstance(v, Spec)):
        place = next(at for at, v in enumerate(model.inputs) if v is value)
        if place in model.limits:
            limits[tensors[number].name] = model.limits[place]
    runs = [random_inputs(tensors, random.getrandbits(32)) for _ in range(RANDOM_RUNS)]
    runs += extreme_inputs(tensors)
    generator = np.random.default_rng(random.getrandbits(64))
    for number, run in enumerate(runs):
        for tensor in tensors:
            if tensor.name in limits:
                run[tensor.name] = _between(generator, tensor, *limits[tensor.name])
            elif number < 2 and tensor.dtype in (np.int32, np.int64):
                run[tensor.name] = _between(generator, tensor, -9, 9)
    return runs


def _between(
    generator: np.random.Generator, tensor: GraphTensor, low: float, high: float
) -> np.ndarray:
    if tensor.dtype.kind == "f":
        value = generator.uniform(low, high, tensor.shape)
    else:
        value = generator.integers(int(low), int(high), tensor.shape, np.int64, endpoint=True)
    return np.asarray(value, tensor.dtype)


def _expected(
    content: bytes,
    runs: Sequence[Mapping[str, np.ndarray]],
    references: Sequence[type[Micro] | type[Reference]],
) -> Iterator[list[np.ndarray]]:
    """The outputs of each run, by the first of the runtimes that can run the model.

    Raises
    ------
    NoReferenceError
        none can.
    """
    reasons = []
    for reference in references:
        reason, outputs = in_child(lambda reference=reference: _run(reference(content), runs))
        if not reason:
            yield from outputs
            return
        reasons.append(f"{reference.__name__} {reason}")
    raise NoReferenceError("; ".join(reasons))


def _run(
    reference: Micro | Reference, runs: Sequence[Mapping[str, np.ndarray]]
) -> list[list[np.ndarray]]:
    return [[value.copy() for value in reference.run(run).values()] for run in runs]
