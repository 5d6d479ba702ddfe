"""A `.tflite` model of all operators that take indices."""

from __future__ import annotations

from itertools import zip_longest
from random import Random

import numpy as np

import usmp
from support.index_sweep import Indices, Sweep
from support.operator_trials.tflite import DRAFTS
from support.operator_trials.tflite.draw import Draw, Model
from support.quantized_models.model import Constant, Spec, one_operator
from support.tflite_builder import Graph, Options, options, per_channel, write_model
from usmp.frontend.tflite.importer import import_tflite


class TfliteSweep(Sweep):
    """A sweep whose inputs are those of a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.graph = Graph()
        self.operators: set[str] = set()
        self.generator = np.random.default_rng(1)

    def of(self, *shape: int) -> int:
        """An input of data."""
        name = f"x{len(self.data)}"
        self.data[name] = self.generator.normal(size=shape).astype(np.float32)
        return self.graph.input(shape, "float32", name=name)

    def index(self, *shape: int, extents: int | tuple[int, ...], dtype: str = "int32") -> int:
        """An input of indices."""
        name = f"i{len(self.indices)}"
        extents = extents if isinstance(extents, tuple) else (extents,)
        self.indices[name] = Indices(shape, extents, dtype, from_end=False)
        return self.graph.input(shape, dtype, name=name)

    def operator(
        self, code: str, inputs: list[int], shape: tuple[int, ...], table: Options | None = None
    ) -> str:
        """An operator whose output is one of the model."""
        name = f"{code}_{len(self.graph.outputs)}"
        output = self.graph.tensor(shape, "float32", name=name)
        self.graph.operator(code, inputs, [output], table)
        self.graph.output(output)
        self.outputs.append(name)
        self.operators.add(code)
        return name


def all_operators() -> TfliteSweep:
    """Each operator of TFLite that takes indices of the run."""
    sweep = TfliteSweep()
    x, update = sweep.of(3, 5), sweep.of(2, 2)
    for dtype in ("int32", "int64"):
        rows = sweep.index(2, extents=3, dtype=dtype)
        sweep.operator("GATHER", [x, rows], (2, 5), options("GatherOptions", axis=0))
        columns = sweep.index(3, 2, extents=5, dtype=dtype)
        table = options("GatherOptions", axis=1, batch_dims=1)
        sweep.operator("GATHER", [x, columns], (3, 2), table)
        sweep.operator("GATHER_ND", [x, sweep.index(2, 2, extents=(3, 5), dtype=dtype)], (2,))
        lengths = sweep.index(3, extents=6, dtype=dtype)
        table = options("ReverseSequenceOptions", seq_dim=1, batch_dim=0)
        sweep.operator("REVERSE_SEQUENCE", [x, lengths], (3, 5), table)
        begins = sweep.index(2, extents=(2, 4), dtype=dtype)
        sweep.operator("DYNAMIC_UPDATE_SLICE", [x, update, begins], (3, 5))
    sweep.operator("GATHER_ND", [x, sweep.index(2, 1, extents=3)], (2, 5))
    sweep.operator("EMBEDDING_LOOKUP", [sweep.index(2, extents=3), x], (2, 5))
    stored = sweep.graph.constant(
        np.arange(-6, 9, dtype=np.int8).reshape(3, 5), per_channel((0.5, 0.25, 2.0), 0)
    )
    sweep.operator("EMBEDDING_LOOKUP", [sweep.index(2, extents=3), stored], (2, 5))
    _scatters(sweep)
    _segments(sweep)
    return sweep


def _scatters(sweep: TfliteSweep) -> None:
    shape = sweep.graph.constant(np.array([3, 5], np.int32))
    for indices, updates in (
        (sweep.index(2, 1, extents=3), sweep.of(2, 5)),
        (sweep.index(2, 2, extents=(3, 5)), sweep.of(2)),
    ):
        output = sweep.operator("SCATTER_ND", [indices, updates, shape], (3, 5))
        name = sweep.graph.tensors[indices].name
        sweep.written[output] = (name, np.zeros((3, 5), np.float32))


def _segments(sweep: TfliteSweep) -> None:
    data, number = sweep.of(3, 5), sweep.graph.constant(np.array(4, np.int32))
    largest = np.finfo(np.float32).max
    for reduction, empty in {"SUM": 0, "PROD": 1, "MIN": largest, "MAX": -largest}.items():
        for outer, shape in (((3,), (4, 5)), ((3, 5), (4,))):
            segments = sweep.index(*outer, extents=4)
            inputs = [data, segments, number]
            output = sweep.operator(f"UNSORTED_SEGMENT_{reduction}", inputs, shape)
            name = sweep.graph.tensors[segments].name
            sweep.written[output] = (name, np.full(shape, empty, np.float32))


def takes_computed_integers(operator: str) -> bool:
    """Return whether an operator takes an input from the run that is int32 or int64 in all models.

    Such an input is an index, or else a shape or a number. Other inputs are data, which have other
    types in some of the models.
    """
    models = [DRAFTS[operator](Draw(Random(f"{operator} {seed}"))) for seed in range(_MODELS)]
    return any(
        all(map(_is_integer, inputs)) and any(_takes_computed(operator, m, place) for m in models)
        for place, inputs in enumerate(zip_longest(*(model.inputs for model in models)))
    )


_MODELS = 12


def _is_integer(value: Spec | Constant | None) -> bool:
    """Return whether an input is an integer of 32 or 64 bits, or absent."""
    if value is None:
        return True
    return _spec(value).dtype in ("int32", "int64")


def _spec(value: Spec | Constant) -> Spec:
    """Return the tensor as an input of the model."""
    if isinstance(value, Constant):
        return Spec(value.data.shape, 0, 0, value.dtype or value.data.dtype.name)
    return value


def _takes_computed(operator: str, model: Model, place: int) -> bool:
    """Return whether the model is imported with one input from the run."""
    inputs = [*model.inputs]
    value = inputs[place] if place < len(inputs) else None
    if value is None:
        return False
    inputs[place] = _spec(value)
    try:
        import_tflite(one_operator(operator, inputs, model.outputs, model.options))
    except usmp.UnsupportedModelError:
        return False
    return True


def model_of(sweep: TfliteSweep) -> bytes:
    """The content of its file."""
    return write_model(sweep.graph)
