"""ONNX models that hold for some sizes only, and which message refuses them."""

from __future__ import annotations

import numpy as np
import pytest

from support.onnx_dynamic import LARGEST, Chain, imported, message_of, normal, shape_of_result
from support.onnx_models import Graph
from usmp.relax.symbolic_sizes import symbolic_sizes_of


def refused_reshape(graph: Chain) -> None:
    graph.node("Reshape", graph.x, graph.ints(1, 64, 6), outputs=["y"])


def refused_slice(graph: Chain) -> None:
    graph.node("Slice", graph.x, graph.ints(0), graph.ints(8), graph.ints(1), outputs=["y"])


def refused_table(graph: Chain) -> None:
    table = graph.constant(normal(11, 6))
    n = graph.extent(graph.x, 1)
    cut = graph.node("Slice", table, graph.ints(0), n, graph.ints(0))
    graph.node("Add", graph.x, cut, outputs=["y"])


def refused_position(graph: Chain) -> None:
    graph.node("Gather", graph.x, graph.constant(3, np.int64), axis=1, outputs=["y"])


def refused_expand(graph: Chain) -> None:
    graph.node("Expand", graph.x, graph.ints(1, 8, 6), outputs=["y"])


def refused_split(graph: Chain) -> None:
    graph.node("Split", graph.x, axis=1, outputs=["y", "z"])


def refused_data(graph: Chain) -> None:
    shape = graph.input("shape", [2], "int64")
    graph.node("Reshape", graph.x, shape, outputs=["y"])


REFUSED = {
    refused_reshape: 'operator Reshape (node "node_y", output "y") is not supported: it makes '
    "[1, 64, 6] of [1, n, 6], which have as many elements only for some sizes; export the model "
    "with fixed input shapes, or so that the shape follows from the sizes",
    refused_slice: 'operator Slice (node "node_y", output "y") is not supported: position 8, where '
    "it begins or ends, is inside the axis of n elements only for some sizes; give other largest "
    "sizes, with --max",
    refused_table: 'operator Slice (node "node_slice_2", output "slice_2") is not supported: '
    "position n, where it begins or ends, is inside the axis of 11 elements only for some sizes; "
    "give other largest sizes, with --max",
    refused_position: 'operator Gather (node "node_y", output "y") is not supported: position 3 is '
    "inside the axis of n elements only for some sizes",
    refused_expand: 'operator Expand (node "node_y", output "y") is not supported: it makes '
    "[1, 8, 6] of [1, n, 6], which is possible only for some sizes",
    refused_split: 'operator Split (node "node_y", output "y") is not supported: it splits an axis '
    "of n elements, a size that only the run knows",
    refused_data: 'operator Reshape (node "node_y", output "y") is not supported: the shape '
    "depends on data, and must follow from the sizes",
}


@pytest.mark.parametrize("chain", REFUSED, ids=lambda chain: chain.__name__)
def test_what_holds_for_some_sizes_is_refused(chain):
    graph = Chain()
    chain(graph)
    outputs = ("y", "z") if chain is refused_split else ("y",)
    assert message_of(graph.model(*outputs)) == REFUSED[chain]


def test_smaller_largest_sizes_decide():
    """A slice of the first 8 is the whole of up to 8, and one of 11 rows holds for up to 11."""
    graph = Chain()
    refused_slice(graph)
    assert shape_of_result(imported(graph.model("y"), {"n": 8})) == "[1, n, 6]"
    graph = Chain()
    refused_table(graph)
    assert shape_of_result(imported(graph.model("y"), {"n": 11})) == "[1, n, 6]"


def test_two_sizes_that_must_be_equal():
    graph = Graph()
    x, z = graph.input("x", [4, "n"]), graph.input("z", ["m", 4])
    graph.node("MatMul", x, z, outputs=["y"])
    assert message_of(graph.model("y"), {"n": 8, "m": 8}) == (
        "operator matmul of [4, n] and [m, 4] is not supported: n and m must be equal, and are not "
        "for all sizes; make the sizes that are always equal one, or fix them"
    )


def test_a_convolution_needs_as_many_steps_as_taps():
    graph = Graph()
    x = graph.input("x", [1, 3, "n"])
    graph.node("Conv", x, graph.weight(2, 3, 5), strides=[2], outputs=["y"])
    content = graph.model("y")
    (size,) = symbolic_sizes_of(imported(content)["main"])
    assert (size.lower_bound, size.upper_bound) == (5, LARGEST)
    assert message_of(content, {"n": 4}) == (
        'a tensor of shape [1, 2, (n - 5) // 2 + 1] has no elements even where size "n" is '
        "largest, 4; give a larger one"
    )


def test_a_recurrent_network_is_refused():
    graph = Graph()
    x = graph.input("x", ["n", 1, 4])
    weights = graph.weight(1, 9, 4), graph.weight(1, 9, 3)
    graph.node("GRU", x, *weights, outputs=["y"], hidden_size=3)
    assert message_of(graph.model("y")).startswith(
        'operator GRU (node "node_y", output "y") is supported for fixed shapes only, and here a '
        "tensor has the shape [n, 1, 4]"
    )


def test_padding_that_depends_on_the_size():
    graph = Graph()
    x = graph.input("x", [1, 3, "n"])
    weights = graph.weight(4, 3, 3)
    graph.node("Conv", x, weights, auto_pad="SAME_UPPER", strides=[2], outputs=["y"])
    message = message_of(graph.model("y"))
    assert message.startswith('TVM\'s ONNX importer failed at operator Conv (node "node_y"')
    assert message.endswith("; with fixed input shapes it may not")


def test_a_tensor_that_is_too_large():
    graph = Chain()
    product = graph.node("MatMul", graph.x, graph.node("Transpose", graph.x, perm=[0, 2, 1]))
    graph.node("MatMul", product, graph.x, outputs=["y"])
    content = graph.model("y")
    message = message_of(content, {"n": 100_000})
    assert (
        "of shape [1, 100000, 100000] takes 40000000000 bytes with the largest sizes, n=100000"
        in (message)
    )
