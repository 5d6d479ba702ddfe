"""Sizes which only the run knows, in ONNX models: what exporters compute of them, and names."""

from __future__ import annotations

import numpy as np
import pytest

from support.lazy import lazy
from support.onnx_dynamic import (
    LARGEST,
    Chain,
    check_results,
    imported,
    message_of,
    normal,
    shape_of_result,
)
from support.onnx_models import Graph
from usmp.relax.symbolic_sizes import symbolic_sizes_of

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")


# ---- what exporters compute of shapes


def arithmetic(graph: Chain) -> None:
    """n * 6 // 3 rows, of a shape that is computed by every operator that is known."""
    n = graph.extent(graph.x, 1)
    n = graph.node("Identity", graph.node("Cast", n, to=TensorProto.INT64))
    more = graph.node("Add", n, graph.ints(2))
    n = graph.node("Sub", more, graph.ints(2))
    rows = graph.node("Div", graph.node("Mul", n, graph.ints(6)), graph.ints(3))
    remainder = graph.node("Mod", graph.node("Mul", n, graph.ints(2)), graph.ints(2))
    rows = graph.node("Add", rows, remainder)
    rows = graph.node("Max", graph.node("Min", rows, graph.ints(1000)), graph.ints(1))
    is_all = graph.node("Equal", rows, graph.ints(-1))
    rows = graph.node("Where", is_all, graph.ints(1), rows)
    scalar = graph.node("Squeeze", rows, graph.ints(0))
    rows = graph.node("Unsqueeze", graph.node("Reshape", scalar, graph.ints(1)), graph.ints(0))
    rows = graph.node("Squeeze", rows, graph.ints(0))
    shape = graph.node("Concat", rows, graph.ints(3), axis=0)
    shape = graph.node("Slice", shape, graph.ints(0), graph.ints(2))
    graph.node("Reshape", graph.x, shape, outputs=["y"])


def flattened(graph: Chain) -> None:
    elements = graph.node("ReduceProd", graph.node("Shape", graph.x), keepdims=1)
    graph.node("Reshape", graph.x, elements, outputs=["y"])


def heads(graph: Chain) -> None:
    """[1, n, 6] -> [1, n, 2, 3], with 3 = 6 // 2 and -1 for n."""
    width = graph.node("Div", graph.extent(graph.x, 2), graph.ints(2))
    batch = graph.extent(graph.x, 0)
    shape = graph.node("Concat", batch, graph.ints(-1), graph.ints(2), width, axis=0)
    graph.node("Reshape", graph.x, shape, outputs=["y"])


def expanded(graph: Chain) -> None:
    """As PyTorch writes `expand`: -1 stands for the extent that is there."""
    n = graph.extent(graph.x, 1)
    wanted = graph.node("Concat", graph.ints(2), n, graph.ints(-1), axis=0)
    ones = graph.constant([1, 1, 1], np.int64)
    is_kept = graph.node("Equal", wanted, graph.ints(-1, -1, -1))
    graph.node("Expand", graph.x, graph.node("Where", is_kept, ones, wanted), outputs=["y"])


def zeros(graph: Chain) -> None:
    shape = graph.node("Concat", graph.extent(graph.x, 1), graph.ints(6), axis=0)
    value = onnx.helper.make_tensor("value", TensorProto.FLOAT, [1], [2.5])
    filled = graph.node("ConstantOfShape", shape, value=value)
    graph.node("Add", graph.x, filled, outputs=["y"])


def positions(graph: Chain) -> None:
    """Range(0, n) as indices into a table, cut of the table too."""
    n = graph.node("Squeeze", graph.extent(graph.x, 1), graph.ints(0))
    zero, one = graph.constant(0, np.int64), graph.constant(1, np.int64)
    table = graph.constant(normal(LARGEST, 6))
    taken = graph.node("Gather", table, graph.node("Range", zero, n, one))
    cut = graph.node("Slice", table, graph.ints(0), graph.extent(graph.x, 1), graph.ints(0))
    graph.node("Add", graph.x, graph.node("Add", taken, cut), outputs=["y"])


def last_row(graph: Chain) -> None:
    last = graph.node("Gather", graph.x, graph.constant(-1, np.int64), axis=1)
    n = graph.node("Sub", graph.extent(graph.x, 1), graph.ints(1))
    again = graph.node("Gather", graph.x, n, axis=1)
    graph.node("Add", graph.node("Squeeze", again, graph.ints(1)), last, outputs=["y"])


def shifted(graph: Chain) -> None:
    """All but the first, and all but the last."""
    end = graph.ints(2**63 - 1)
    later = graph.node("Slice", graph.x, graph.ints(1), end, graph.ints(1))
    earlier = graph.node("Slice", graph.x, graph.ints(0), graph.ints(-1), graph.ints(1))
    graph.node("Sub", later, earlier, outputs=["y"])


def tiled(graph: Chain) -> None:
    row = graph.constant(normal(1, 1, 6))
    repeats = graph.node("Concat", graph.ints(1), graph.extent(graph.x, 1), graph.ints(1), axis=0)
    graph.node("Mul", graph.x, graph.node("Tile", row, repeats), outputs=["y"])


def scaled(graph: Chain) -> None:
    """By 1 / sqrt(6), computed from the shape, and by n, which only the run knows."""
    width = graph.node("Cast", graph.extent(graph.x, 2), to=TensorProto.FLOAT)
    scaled = graph.node("Div", graph.x, graph.node("Sqrt", width))
    n = graph.node("Cast", graph.extent(graph.x, 1), to=TensorProto.FLOAT)
    graph.node("Div", scaled, n, outputs=["y"])


def chosen(graph: Chain) -> None:
    """An extent, at a position that data gives, as a tensor that a run computes."""
    which = graph.node("Cast", graph.node("ReduceMax", graph.x), to=TensorProto.INT64)
    which = graph.node("Min", graph.node("Max", which, graph.ints(1)), graph.ints(1))
    extent = graph.node("Gather", graph.node("Shape", graph.x), which)
    graph.node("Add", graph.x, graph.node("Cast", extent, to=TensorProto.FLOAT), outputs=["y"])


def wrapped(graph: Chain) -> None:
    """2^64 beside n: a run wraps it."""
    both = graph.node("Concat", graph.extent(graph.x, 1), graph.ints(2**62), axis=0)
    both = graph.node("Cast", graph.node("Mul", both, graph.ints(1, 4)), to=TensorProto.FLOAT)
    graph.node("Add", graph.x, graph.node("ReduceMax", both), outputs=["y"])


CHAINS = {
    chosen: "[1, n, 6]",
    arithmetic: "[n * 2, 3]",
    flattened: "[n * 6]",
    heads: "[1, n, 2, 3]",
    expanded: "[2, n, 6]",
    zeros: "[1, n, 6]",
    positions: "[1, n, 6]",
    last_row: "[1, 6]",
    shifted: "[1, n - 1, 6]",
    tiled: "[1, n, 6]",
    scaled: "[1, n, 6]",
    wrapped: "[1, n, 6]",
}


@pytest.mark.models
@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.__name__)
def test_shapes_that_are_computed(chain):
    graph = Chain()
    chain(graph)
    sizes = (2, 7, LARGEST) if chain is shifted else (1, 2, 7, LARGEST)
    mod = check_results(graph.model("y"), lambda n: {"x": normal(1, n, 6)}, sizes)
    assert shape_of_result(mod) == CHAINS[chain]
    # No shape is computed when the model runs.
    text = mod.script(show_meta=False)
    assert "shape_of" not in text and "shape_to_tensor" not in text


# ---- names


def names_of(*shape, max_sizes) -> list[str]:
    graph = Graph()
    graph.node("Relu", graph.input("x", list(shape)), outputs=["y"])
    return [s.name for s in symbolic_sizes_of(imported(graph.model("y"), max_sizes)["main"])]


@pytest.mark.parametrize(
    ("shape", "symbols"),
    [
        (("seq len", "seq_len"), ["seq_len", "seq_len_1"]),
        (("2n", "int"), ["_2n", "int_"]),
        (('"; system("x"); //', "a\n#b"), ["___system__x______", "a__b"]),
        (("x" * 400, "ü"), None),
        (("n + 1", "n"), ["n___1", "n"]),
    ],
    ids=["apart", "words", "code", "long", "expression"],
)
def test_names_are_c_identifiers(shape, symbols):
    names = names_of(*shape, max_sizes=dict.fromkeys(shape, 4))
    assert len(set(names)) == 2
    assert all(name.isascii() and name.isidentifier() and len(name) < 140 for name in names)
    assert symbols is None or names == symbols


def test_names_in_messages_are_those_of_the_file():
    assert message_of(graph_of("a b"), {"c": 3}) == ('the model has no size "c". Its sizes: a b')
    assert message_of(graph_of("a\x1b[2Jb"), {}).startswith(
        'input "x" has a dynamic shape, [1, a\\x1b[2Jb]; '
    )


def graph_of(name: str) -> bytes:
    graph = Graph()
    graph.node("Relu", graph.input("x", [1, name]), outputs=["y"])
    return graph.model("y")
