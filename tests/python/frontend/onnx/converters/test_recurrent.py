"""ONNX LSTM, GRU and RNN: stacked layers, loops over steps, memory, and what is refused. Random
attributes of one layer: `support.operator_trials.onnx.recurrent`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tvm.ir import assert_structural_equal

import usmp
from support.lazy import lazy
from support.onnx_models import Graph, Reference

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

pytestmark = pytest.mark.models

BATCH, FEATURES, UNITS = 2, 3, 5
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
BOTH_WAYS = "bidirectional"


def layer(
    graph: Graph,
    operator: str,
    x: str,
    outputs: list[str],
    *others: str,
    features: int = FEATURES,
    **attributes: object,
) -> None:
    """A node with random weights and biases; `others` are its inputs from the fifth on."""
    directions = 2 if attributes.get("direction") == BOTH_WAYS else 1
    rows = GATES[operator] * UNITS
    weights = [graph.weight(directions, rows, n) for n in (features, UNITS)]
    bias = graph.weight(directions, 2 * rows)
    inputs = (x, *weights, bias, *others)
    graph.node(operator, *inputs, outputs=outputs, hidden_size=UNITS, **attributes)


def one_layer(operator: str, *others: str, steps: int = 4, **attributes: object) -> bytes:
    """A model of one node with the output `y`, whose inputs from the fifth on are constants of
    these names."""
    graph = Graph()
    graph.input("x", [steps, BATCH, FEATURES])
    values = {
        "short": np.array([steps, steps - 1], np.int32),
        "full": np.array([steps, steps], np.int32),
        "state": np.ones((1, BATCH, UNITS), np.float32),
        "narrow_state": np.ones((1, BATCH, UNITS - 1), np.float32),
        "peepholes": np.ones((1, 3 * UNITS), np.float32),
        "no_peepholes": np.zeros((1, 3 * UNITS), np.float32),
    }
    names = [graph.constant(values[name], name=name) if name else "" for name in others]
    layer(graph, operator, "x", ["y"], *names, **attributes)
    return graph.model("y")


def stack() -> bytes:
    """An encoder of layers in both directions, whose last states a decoder goes on from."""
    graph, both = Graph(), 2 * UNITS
    graph.input("x", [6, BATCH, FEATURES])
    graph.input("state", [2, BATCH, UNITS])
    layer(graph, "LSTM", "x", ["a", "a_h", "a_c"], "", "state", direction=BOTH_WAYS)
    graph.node("Transpose", "a", outputs=["b"], perm=[0, 2, 1, 3])
    graph.node("Reshape", "b", graph.constant([6, BATCH, both], np.int64), outputs=["c"])
    after = {"linear_before_reset": 1, "direction": BOTH_WAYS}
    layer(graph, "GRU", "c", ["", "d_h"], "", "a_h", features=both, **after)
    graph.node("Slice", "d_h", *map(graph.constant, ([0], [1], [0])), outputs=["e"])
    layer(graph, "RNN", "c", ["f", "f_h"], "", "e", features=both, direction="reverse")
    layer(graph, "GRU", "x", ["g"])
    return graph.model("a_c", "d_h", "f", "f_h", "g")


def build(content: bytes) -> usmp.AOTExecutorFactoryModule:
    return usmp.build(import_onnx(content, Path(".")))


@pytest.mark.slow
def test_stacked_layers_like_onnxruntime():
    reference, factory = Reference(stack()), build(stack())
    for seed in range(2):
        inputs = reference.random_inputs(seed)
        outputs, expected = factory.run(inputs), reference.run(inputs)
        assert outputs.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(outputs[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_code_does_not_grow_with_the_steps():
    short, long = (build(one_layer("LSTM", steps=steps)).source for steps in (4, 44))
    assert len(short.splitlines()) == len(long.splitlines())


def test_states_that_nothing_reads_and_one_row_are_all_scratch():
    """The states of both rows of the batch, and what a step computes for one of them."""
    pools = build(one_layer("GRU")).metadata["modules"]["default"]["memory"]["pools"]
    sizes = [b["size"] for p in pools if p["kind"] == "workspace" for b in p["buffers"]]
    assert sorted(sizes) == [4 * UNITS, 4 * UNITS, 4 * BATCH * UNITS]


@pytest.mark.parametrize(
    ("operator", "inputs"), [("RNN", ["full"]), ("LSTM", ["", "", "", "no_peepholes"])]
)
def test_inputs_that_make_no_difference(operator, inputs):
    mod, plain = (import_onnx(one_layer(operator, *i), Path(".")) for i in (inputs, []))
    assert_structural_equal(mod, plain)


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "peepholes": (
        lambda: one_layer("LSTM", "", "", "", "peepholes"),
        "peepholes (input 7, P) are not computed; export it without them",
    ),
    "lengths": (
        lambda: one_layer("GRU", "short"),
        "sequence_lens (input 4) is [4, 3], and the sequences have 4 steps; only sequences of full",
    ),
    "narrow_state": (
        lambda: one_layer("RNN", "", "narrow_state"),
        "initial_h (input 5) is float32[1, 2, 4]; it should be float32[1, 2, 5]",
    ),
    "clip": (lambda: one_layer("LSTM", clip=0.0), "clip is 0.0; it must be positive"),
    "activation": (
        lambda: one_layer("RNN", activations=["Mish"]),
        'activation "Mish" is not known; supported: Affine, Elu, HardSigmoid',
    ),
    "activation_that_clears_the_screen": (
        lambda: one_layer("RNN", activations=["\x1b[2J\n"]),
        'activation "\\x1b[2J\\n" is not known; ',
    ),
    "too_few_activations": (
        lambda: one_layer("GRU", activations=["Tanh"]),
        "it has 1 activations, and needs 2",
    ),
    "no_alpha": (
        lambda: one_layer("GRU", activations=["ThresholdedRelu", "Tanh"]),
        "activation ThresholdedRelu has no activation_alpha, and runtimes disagree on it",
    ),
    "alpha_of_some": (
        lambda: one_layer(
            "RNN", direction=BOTH_WAYS, activations=["Tanh", "Elu"], activation_alpha=[0.5]
        ),
        "activation_alpha [0.5] of activations Tanh, Elu: runtimes disagree on which direction",
    ),
    "direction": (
        lambda: one_layer("LSTM", direction="both"),
        'direction is "both"; ONNX knows forward, reverse, bidirectional',
    ),
    "direction_that_clears_the_screen": (
        lambda: one_layer("LSTM", direction="\x1b[2J"),
        'direction is "\\x1b[2J"; ONNX knows forward, reverse, bidirectional',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    make, reason = REFUSED[case]
    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_onnx(make(), Path("."))
    operator = str(error.value).split(" ")[1]
    prefix = f'operator {operator} (node "node_y", output "y") is not supported: '
    assert str(error.value).startswith(prefix + reason)
