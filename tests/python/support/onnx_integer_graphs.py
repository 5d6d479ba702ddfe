"""Random ONNX graphs of integer operators, and inputs at the limits of their type."""

from __future__ import annotations

import numpy as np

from support.lazy import lazy
from support.onnx_models import Graph

helper = lazy("onnx.helper")

_ELEMENTS = 40
_BINARY = ("Add", "Sub", "Mul", "Min", "Max")


def random_integer_graph(seed: int) -> tuple[bytes, dict[str, np.ndarray]]:
    """A model with the output "output", and its inputs."""
    generator = np.random.default_rng(seed)
    dtype = ("int32", "int64")[seed % 2]
    graph = Graph()
    inputs = {name: _values(generator, dtype) for name in ("a", "b", "c")}
    names = [graph.input(name, [_ELEMENTS], dtype) for name in inputs]
    for _ in range(int(generator.integers(2, 8))):
        names.append(_node(generator, graph, names, dtype))
    graph.node("Identity", names[-1], outputs=["output"])
    return graph.model("output", dtype=dtype), inputs


def _values(generator: np.random.Generator, dtype: str) -> np.ndarray:
    limits = np.iinfo(dtype)
    special = [limits.min, limits.min + 1, limits.max, limits.max // 2, 0, 1, -1, 2, -3, 7]
    values = generator.integers(limits.min, limits.max, _ELEMENTS, dtype, endpoint=True)
    chosen = generator.choice(np.array(special, dtype), _ELEMENTS)
    return np.where(generator.random(_ELEMENTS) < 0.6, chosen, values)


def _node(generator: np.random.Generator, graph: Graph, names: list[str], dtype: str) -> str:
    x, y = (names[int(index)] for index in generator.integers(0, len(names), 2))
    kind = str(generator.choice(["binary", "binary", "Neg", "Abs", "where", "divide", "cast"]))
    if kind == "binary":
        return graph.node(str(generator.choice(_BINARY)), x, y)
    if kind == "where":
        return graph.node("Where", graph.node("Less", x, y), y, x)
    if kind == "divide":
        divisor = graph.constant(int(generator.choice([2, 3, 7, 16])), dtype)
        return graph.node(str(generator.choice(["Div", "Mod"])), x, divisor)
    if kind == "cast":
        narrow = np.dtype(str(generator.choice(["int8", "uint8", "int16", "int32"])))
        to, back = (helper.np_dtype_to_tensor_dtype(t) for t in (narrow, np.dtype(dtype)))
        return graph.node("Cast", graph.node("Cast", x, to=to), to=back)
    return graph.node(kind, x)
