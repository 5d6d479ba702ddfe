"""An ONNX model of all operators that take indices."""

from __future__ import annotations

from functools import partial

import numpy as np

from support.index_sweep import Indices, Sweep, Tensors
from support.onnx_models import Graph


class OnnxSweep(Sweep):
    """A sweep whose inputs are those of a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.graph = Graph()
        self.operators: set[str] = set()
        self.generator = np.random.default_rng(1)

    def of(self, name: str, *shape: int) -> str:
        """An input of data."""
        if name not in self.data:
            self.graph.input(name, list(shape))
            self.data[name] = self.generator.normal(size=shape).astype(np.float32)
        return name

    def index(self, *shape: int, extents: int | tuple[int, ...], **options) -> str:
        """An input of indices."""
        name = f"i{len(self.indices)}"
        extents = extents if isinstance(extents, tuple) else (extents,)
        self.indices[name] = Indices(shape, extents, **options)
        self.graph.input(name, list(shape), self.indices[name].dtype)
        return name

    def node(self, operator: str, *inputs: str, **attributes) -> str:
        """A node whose first output is one of the model."""
        output = f"{operator}_{len(self.outputs)}"
        more = ["mask"] if operator == "EmbedLayerNormalization" else []
        self.graph.node(operator, *inputs, outputs=[output, *more], **attributes)
        self.outputs.append(output)
        self.operators.add(operator)
        return output

    def write(self, operator: str, indices: str, updates: str, **attributes) -> None:
        """A node that writes into `x`."""
        output = self.node(operator, "x", indices, updates, **attributes)
        self.written[output] = (indices, self.data["x"])


def all_operators() -> OnnxSweep:
    """Each operator of ONNX that takes indices of the run, but for the oldest and the newest."""
    sweep = OnnxSweep()
    x = sweep.of("x", 3, 5)
    for dtype in ("int32", "int64"):
        sweep.node("Gather", x, sweep.index(2, 2, extents=3, dtype=dtype))
        sweep.node("Gather", x, sweep.index(2, extents=5, dtype=dtype), axis=-1)
        sweep.node("GatherElements", x, sweep.index(3, 2, extents=5, dtype=dtype), axis=1)
        indices = sweep.index(2, 5, extents=3, dtype=dtype)
        sweep.write("ScatterElements", indices, sweep.of("two_rows", 2, 5))
    sweep.node("GatherND", x, sweep.index(2, 2, extents=(3, 5)))
    sweep.node("GatherND", x, sweep.index(2, 1, extents=3))
    sweep.node("GatherND", x, sweep.index(3, 2, 1, extents=5), batch_dims=1)
    for reduction in ("add", "mul", "min", "max"):
        indices = sweep.index(3, 2, extents=5)
        updates = sweep.of("two_columns", 3, 2)
        sweep.write("ScatterElements", indices, updates, axis=1, reduction=reduction)
    for reduction in ("none", "add", "mul", "min", "max"):
        indices = sweep.index(2, 2, extents=(3, 5))
        sweep.write("ScatterND", indices, sweep.of("two", 2), reduction=reduction)
    sweep.write("ScatterND", sweep.index(2, 1, extents=3), "two_rows")
    _loss_functions(sweep)
    _images(sweep)
    _embedding(sweep)
    values = _const(sweep, 4), _const(sweep, [2.5, 7.0], "float32")
    sweep.node("OneHot", sweep.index(3, extents=4, is_defined=True), *values)
    sweep.node("Trilu", x, sweep.index(extents=5, is_defined=True))
    return sweep


def new_operators() -> OnnxSweep:
    """Those that came with opsets 23 and 24."""
    sweep = OnnxSweep()
    rotated = sweep.of("rotated", 1, 2, 2, 4)
    positions = sweep.index(1, 2, extents=3)
    tables = sweep.of("cosines", 3, 2), sweep.of("sines", 3, 2)
    sweep.node("RotaryEmbedding", rotated, *tables, positions)
    for mode in ("linear", "circular"):
        cache, update = sweep.of("cache", 2, 5, 3), sweep.of("update", 2, 2, 3)
        begins = sweep.index(2, extents=4)
        output = sweep.node("TensorScatter", cache, update, begins, mode=mode)
        sweep.computed[output] = partial(_with_update, begins, mode == "circular")
    return sweep


def _const(sweep: OnnxSweep, value: object, dtype: str = "int64") -> str:
    return sweep.graph.constant(value, dtype)


def _loss_functions(sweep: OnnxSweep) -> None:
    scores, weights = sweep.of("scores", 2, 5), sweep.of("weights", 5)
    for operator in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        for dtype in ("int32", "int64"):
            labels = sweep.index(2, extents=5, dtype=dtype)
            sweep.node(operator, scores, labels, weights, reduction="none")


def _embedding(sweep: OnnxSweep) -> None:
    tables = [sweep.of(name, *shape) for name, shape in _TABLES.items()]
    ids = [sweep.index(1, 2, extents=extent, dtype="int32") for extent in (5, 3)]
    domain = "com.microsoft"
    sweep.node("EmbedLayerNormalization", *ids, *tables, domain=domain, epsilon=1e-5)


_TABLES = {"words": (5, 4), "positions": (2, 4), "segments": (3, 4), "gamma": (4,), "beta": (4,)}


def _images(sweep: OnnxSweep) -> None:
    images = sweep.of("images", 3, 1, 4, 4)
    sweep.coordinates |= {"regions": (2, 4), "grid": (3, 2, 2, 2)}
    for name, shape in sweep.coordinates.items():
        sweep.graph.input(name, list(shape))
    batches = sweep.index(2, extents=3, from_end=False)
    sizes = {"output_height": 2, "output_width": 2, "sampling_ratio": 1}
    sweep.sampled.add(sweep.node("RoiAlign", images, "regions", batches, **sizes))
    for mode, padding in (("linear", "zeros"), ("nearest", "reflection")):
        output = sweep.node("GridSample", images, "grid", mode=mode, padding_mode=padding)
        sweep.sampled.add(output)


def _with_update(begins: str, is_circular: bool, inputs: Tensors) -> np.ndarray:
    """The cache with rows of the update, but for those that are outside of it."""
    result = inputs["cache"].copy()
    for batch, begin in enumerate(inputs[begins].tolist()):
        for row, values in enumerate(inputs["update"][batch]):
            place = (begin + row) % 5 if is_circular else begin + row
            if 0 <= place < 5:
                result[batch, place] = values
    return result


def old_scatter() -> OnnxSweep:
    """`Scatter`, which newer opsets do not have."""
    sweep = OnnxSweep()
    sweep.of("x", 3, 5)
    indices = sweep.index(2, 5, extents=3)
    sweep.write("Scatter", indices, sweep.of("rows", 2, 5))
    sweep.write("Scatter", sweep.index(3, 5, extents=5), sweep.of("all", 3, 5), axis=1)
    return sweep
