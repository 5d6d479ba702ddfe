"""Every ONNX operator that is supported against onnxruntime, on a few random models each (more of
them: benchmarks/operators.py), and one by one those that TVM's importer converts otherwise."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from random import Random

import numpy as np
import pytest

import usmp
from support.lazy import lazy
from support.levels import number
from support.onnx_models import Graph, Reference
from support.onnx_nodes import given, imported, later, node
from support.operator_trials.onnx import GENERATORS
from support.operator_trials.onnx.one_node import graph_trial, node_trial
from support.operator_trials.onnx.samples import int64, values
from support.operator_trials.sweep import faults_of, never_compared, trial_of
from support.operator_trials.trial import Tolerance, Trial, outcome

ModelProto = lazy("onnx:ModelProto")
TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")
compared = lazy("usmp.frontend.onnx.converters.operators")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

PARTS = 8
QUICK = ("-O0",)
MOST_SEEDS = 12
"""How many trials at most until one is no refusal."""


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("part", range(PARTS))
def test_like_onnxruntime(part):
    operators = sorted(GENERATORS.keys() & compared.COMPARED)[part::PARTS]
    assert faults_of("onnx", operators, QUICK, number(1, 6), MOST_SEEDS) == {}


@pytest.mark.cc
def test_nothing_is_supported_that_is_never_compared():
    assert never_compared("onnx") == []


@pytest.mark.cc
def test_other_operators_that_tvm_imports_are_refused():
    others = GENERATORS.keys() - compared.COMPARED
    assert others
    for operator in sorted(others):
        with pytest.raises(usmp.UnsupportedModelError) as error:
            imported(trial_of("onnx", operator, 0).model)
        start = rf"operator {re.escape(operator)} \(.*\) is not supported: "
        assert re.match(start, str(error.value))


IMAGE = values("float32", [1, 2, 5, 7])
SCALES = np.array([1, 1, 0.7, 2.6], np.float32)
INF = np.inf


def resize(mode: str, opset: int = 19, **attributes) -> Trial:
    operands = [IMAGE, None, SCALES]
    return node_trial(Random(0), "Resize", operands, opset, mode=mode, **attributes)


@pytest.mark.models
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("places", ["half_pixel", "asymmetric", "align_corners"])
def test_resize_to_the_nearest_by_scales(rounding, places):
    trial = resize("nearest", nearest_mode=rounding, coordinate_transformation_mode=places)
    assert outcome(trial).verdict == "equal"


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_between_elements_by_scales(mode):
    assert outcome(resize(mode)).is_compared


@pytest.mark.models
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_with_antialias(mode):
    assert outcome(resize(mode, antialias=1, exclude_outside=int(mode == "cubic"))).is_compared


@pytest.mark.models
@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_resize_that_keeps_the_aspect_ratio(policy):
    operands = [IMAGE, None, None, int64(7, 12)]
    trial = node("Resize", *operands, opset=18, axes=[2, 3], keep_aspect_ratio_policy=policy)
    assert outcome(trial).verdict == "equal"


@pytest.mark.models
def test_resize_of_integers_keeps_every_digit():
    x = given([[[2**30 + 1, -(2**30) - 1]]], dtype="int32")
    operands = [x, None, np.array([1, 1, 1, 1.5], np.float32)]
    assert outcome(node("Resize", *operands, mode="nearest")).verdict == "equal"


@pytest.mark.models
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample_by_scales(mode):
    trial = node_trial(Random(0), "Upsample", [IMAGE], 8, mode=mode, scales=[1.0, 1.0, 1.5, 2.6])
    assert outcome(trial).is_compared


@pytest.mark.slow
@pytest.mark.models
def test_regions_are_scaled_before_half_a_pixel_is_taken_off():
    boxes, batch = given([1, 2, 7, 9], [0, 0, 5, 4]), np.zeros(2, np.int64)
    trial = node_trial(
        Random(0), "RoiAlign", [IMAGE, boxes, batch], 16, output_height=2, spatial_scale=0.5
    )
    assert outcome(trial).is_compared


@pytest.mark.models
def test_resize_by_powers_of_two_needs_no_tables():
    graph = Graph()
    scales = graph.constant([1, 1, 2, 0.5], np.float32)
    graph.node("Resize", graph.input("x", [1, 3, 8, 8]), "", scales, outputs=["y"], mode="linear")
    assert "R.image.resize2d" in imported(graph.model("y")).script()


DIFFERENCES = {
    "infinity of one sign": later("IsInf", given(INF, -INF, 1), detect_negative=0),
    "one-hot values of another type": later(
        "OneHot",
        given([0, -1], [7, 2], dtype="int64"),
        np.array(3, np.int64),
        np.array([-5, 5], np.int32),
        axis=0,
    ),
    "a sum of squares wraps": partial(
        node_trial,
        Random(0),
        "ReduceSumSquare",
        [given(2**33, 2**32 + 1, 3, dtype="int64")],
        11,
        by_evaluator=True,
        keepdims=0,
        axes=[0],
    ),
    "a product wraps": partial(
        node_trial,
        Random(0),
        "ReduceProd",
        [given(2**20, 2**19 + 1, 3, dtype="int32")],
        11,
        by_evaluator=True,
        keepdims=0,
        axes=[0],
    ),
    "a norm over no axis": later("ReduceL1", given(-1, 2), opset=18, noop_with_empty_axes=1),
    "a mean of integers": later(
        "ReduceMean", given([-7, 2, 1], [5, 5, 4], dtype="int32"), axes=[1]
    ),
    "the maximum of minus infinities": later("ArgMax", given([-INF, -INF], [1, 1]), axis=1),
    "the greatest of minus infinities": later("ReduceMax", given([-INF, -INF], [1, 2]), axes=[1]),
    "the minimum of infinities": later("ArgMin", given([INF, INF], [1, 1]), axis=1),
    "the maximum behind a NaN": later("ArgMax", given([np.nan, 2], [np.nan, np.nan]), axis=1),
    "the last of equal maxima": later("ArgMax", given([3, 3, 1], [-INF] * 3), select_last_index=1),
    "one of several equal maxima": later("Hardmax", given([2, 2, 1], [-INF, -INF, -INF])),
    "only zeros are quantized": later("DynamicQuantizeLinear", given(0, 0), outputs=3),
    "infinity over a threshold": later("ThresholdedRelu", given(INF, -INF, 0.5, 3)),
    "a dropout of nothing in training": later(
        "Dropout", given(1, 2), np.float32(0).reshape(()), np.array(True), outputs=2
    ),
    "the mask of a dropout": later("Dropout", given(1, 2), outputs=2),
    "another type of ones": later(
        "EyeLike", given([1, 2, 3], [4, 5, 6]), dtype=7, k=1
    ),
    "a constant condition": later(
        "Compress", given([1, 2, 3], [4, 5, 6]), np.array([False, True, True]), axis=1
    ),
    "running sums backwards": later(
        "CumSum", given([1, 2, 3], [4, 5, 6]), np.array(-1), exclusive=1, reverse=1
    ),
    "an exponent of another type": later(
        "Pow", given(1.5, -2, 0), np.array(2, np.int64)
    ),
    "an output shape": later(
        "ConvTranspose", given([[1, 2, 3]]), np.ones((1, 1, 3), np.float32), strides=[2],
        output_shape=[6],
    ),
    "a transposed convolution of the same shape": later(
        "ConvTranspose", given([[1, 2, 3]]), np.ones((1, 1, 2), np.float32), strides=[1],
        auto_pad="SAME_LOWER",
    ),
    "channels outermost in the depth": later(
        "SpaceToDepth", values("float32", [1, 3, 4, 6]), opset=28, by_evaluator=True, blocksize=2,
        mode="CRD",
    ),
    "steps without axes": later("Slice", given(*range(9)), int64(8), int64(-99), None, int64(-3)),
    "an end far outside, of old models": later(
        "Slice", values("float32", [3, 4, 5]), opset=9, starts=[1, 0], ends=[2**63 - 1] * 2,
        axes=[2, 1],
    ),
}  # fmt: skip


@pytest.mark.models
@pytest.mark.parametrize("trial", DIFFERENCES.values(), ids=DIFFERENCES.keys())
def test_what_tvm_converts_otherwise(trial):
    result = outcome(trial())
    assert result.verdict == "equal", result.detail


@pytest.mark.models
def test_sequences_with_positions_from_the_end():
    nodes = [
        helper.make_node("SequenceConstruct", ["x0", "x1"], ["s"]),
        helper.make_node("SequenceInsert", ["s", "x2", "x3"], ["t"]),
        helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0),
    ]
    operands = [values("float32", [2]), values("float32", [2]), values("float32", [2])]
    trial = graph_trial(Random(0), "", nodes, [*operands, np.array(-1, np.int64)], ["y"], 17)
    assert outcome(trial).verdict == "equal"


@pytest.mark.models
def test_sequences_of_parts_of_one_size():
    nodes = [
        helper.make_node("SplitToSequence", ["x0", "x1"], ["s"], axis=0, keepdims=0),
        helper.make_node("SequenceAt", ["s", "x2"], ["y"]),
    ]
    operands = [values("float32", [4]), np.array(3, np.int64), np.array(1, np.int64)]
    trial = graph_trial(Random(0), "", nodes, operands, ["y"], 17)
    assert outcome(trial).verdict == "equal"


@pytest.mark.models
def test_sizes_that_only_the_importer_knows():
    """ONNX infers no shapes of operators of other domains."""
    graph = Graph()
    larger = graph.node("FastGelu", graph.input("x", [1, 1, 4, 6]), domain="com.microsoft")
    limits = [graph.constant([number], np.int64) for number in (0, 9)]
    sizes = graph.node("Slice", graph.node("Shape", larger), *limits)
    graph.node("Resize", graph.input("z", [1, 1, 2, 3]), "", "", sizes, outputs=["y"])
    z = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    runs = [{"x": np.ones((1, 1, 4, 6), np.float32), "z": z}]
    content = graph.model("y", domains=["com.microsoft"])
    trial = Trial("onnx", "", "", content, runs, lambda given: [z.repeat(2, 2).repeat(2, 3)])
    assert outcome(trial).verdict == "equal"


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("length", [60, 14])
def test_whole_spectra_of_real_numbers(length):
    """60 has a fast transform, of which the upper half is the mirror; 14 is a sum of products."""
    axis = np.array(1, np.int64)
    trial = node_trial(
        Random(0), "DFT", [values("float32", [2, length, 3, 1]), None, axis], 20,
        tolerance=Tolerance(1e-5, 1e-5), by_evaluator=True,
    )  # fmt: skip
    result = outcome(trial)
    assert result.is_compared, result.detail


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("blocks", [{"axis": 0, "block_size": 4}, {"axis": 1}])
def test_weights_of_four_bits(dtype, blocks):
    """With a scale for each block of a column, of which the last one is smaller, or each column."""
    generator = np.random.default_rng(0)
    low = -8 if dtype == "int4" else 0
    shape = (2, 6) if "block_size" in blocks else (6,)
    weight, zero = (
        generator.integers(low, low + 16, each).astype(dtype) for each in ((7, 6), shape)
    )
    scale = generator.uniform(0.01, 0.3, shape).astype(np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["x1", "x2", "x3"], ["w"], **blocks),
        helper.make_node("MatMul", ["x0", "w"], ["y"]),
    ]
    operands = [values("float32", [3, 7]), weight, scale, zero]
    trial = graph_trial(Random(0), "DequantizeLinear", nodes, operands, ["y"], 21)
    result = outcome(trial)
    assert result.is_compared, result.detail


@pytest.mark.cc
def test_a_block_takes_no_more_memory_than_its_elements():
    operands = [np.array([[3, -5]], np.int8), np.array([[0.5]], np.float32)]
    nodes = [
        helper.make_node("DequantizeLinear", ["x0", "x1"], ["w"], axis=1, block_size=2**40),
        helper.make_node("Add", ["x2", "w"], ["y"]),
    ]
    trial = graph_trial(Random(0), "", nodes, [*operands, given([1, 2])], ["y"], 21)
    trial = replace(trial, reference=lambda _: [np.array([[2.5, -0.5]], np.float32)])
    result = outcome(trial)
    assert result.verdict == "equal", result.detail


@pytest.mark.parametrize("name", ["QuantizeLinear", "DequantizeLinear"])
def test_blocks_of_no_elements_are_one_scale(name):
    """Which kernels of integers need."""
    dtype = "float32" if name == "QuantizeLinear" else "int8"
    operands = [values(dtype, [3, 2]), np.array([0.5], np.float32), np.array([3], np.int8)]
    said = node(name, *operands, opset=21, block_size=0)
    assert imported(said.model).script() == imported(node(name, *operands, opset=21).model).script()


@pytest.mark.parametrize("sizes", [(2**27, 4), (2**25, 1)])
def test_sizes_that_onnx_does_not_infer_are_limited_before_tables_are_made(sizes):
    graph = Graph()
    larger = graph.node("FastGelu", graph.input("x", [1, 1, 2, 2]), domain="com.microsoft")
    asked = graph.constant([1, 1, *sizes], np.int64)
    graph.node("Resize", larger, "", "", asked, outputs=["y"], mode="cubic")
    with pytest.raises(usmp.UnsupportedModelError, match=r"takes .* bytes; a tensor may take"):
        imported(graph.model("y", domains=["com.microsoft"]))


@pytest.mark.cc
def test_what_does_not_go_into_a_cache_is_left_out():
    begins = np.array([-1, 2, 2**62, -(2**63)], np.int64)
    operands = [values("float32", [4, 3, 2]), values("float32", [4, 2, 2]), begins]
    trial = node("TensorScatter", *operands, opset=24)

    def expected(given):
        cache = given["x0"].copy()
        cache[0, 0], cache[1, 2] = given["x1"][0, 1], given["x1"][1, 0]
        return [cache]

    assert outcome(replace(trial, reference=expected)).verdict == "equal"


@pytest.mark.slow
@pytest.mark.models
def test_constants_are_not_folded_by_what_computes_otherwise():
    """ONNX's evaluator keeps an axis too many of five."""
    nodes = [
        helper.make_node("GlobalMaxPool", ["x0"], ["y"]),
        helper.make_node("Identity", ["x1"], ["z"]),
    ]
    constant = np.arange(2 * 3 * 4 * 5 * 2, dtype=np.float32).reshape(2, 3, 4, 5, 2)
    trial = graph_trial(Random(0), "", nodes, [constant, given(1)], ["y", "z"], 17)
    result = outcome(trial)
    assert result.verdict == "equal", result.detail


@pytest.mark.models
def test_old_models_mean_what_they_meant():
    """Until opset 7, two attributes said how much larger the image becomes."""
    graph = Graph()
    x = graph.input("x", [1, 1, 2, 2])
    graph.node("Upsample", x, outputs=["y"], height_scale=2.0, width_scale=1.0)
    runs = [{"x": np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)}]
    content = graph.model("y", opset=6)
    trial = Trial("onnx", "Upsample", "", content, runs, lambda given: [given["x"].repeat(2, 2)])
    assert outcome(trial).verdict == "equal"


@pytest.mark.models
def test_old_models_that_cannot_be_converted():
    """Until opset 7, a tensor was broadcast along axes that an attribute named."""
    graph = Graph()
    graph.node(
        "Add",
        graph.input("x", [2, 3, 4]),
        graph.input("b", [3]),
        outputs=["y"],
        broadcast=1,
        axis=1,
    )
    with pytest.raises(usmp.UnsupportedModelError) as error:
        imported(graph.model("y", opset=6))
    message = str(error.value)
    assert message.startswith(
        "the model uses version 6 of the ONNX operators, which cannot be converted to version 7 ("
    )
    assert message.endswith("); export it with opset 7 or newer")


@pytest.mark.models
def test_outputs_without_elements():
    graph = Graph()
    x = graph.input("x", [2, 3])
    graph.node("Shape", x, outputs=["y"], start=1, end=1)
    begin = graph.constant([3], np.int64)
    graph.node("Slice", x, begin, begin, graph.constant([1], np.int64), outputs=["z"])
    model = ModelProto.FromString(graph.model("y", "z", dtype="int64"))
    model.graph.output[1].type.tensor_type.elem_type = TensorProto.FLOAT
    content = model.SerializeToString()
    inputs = {"x": np.ones((2, 3), np.float32)}
    actual = usmp.build(import_onnx(content, None)).run(inputs)
    for name, expected in Reference(content).run(inputs).items():
        assert actual[name].shape == expected.shape
        assert actual[name].dtype == expected.dtype


@pytest.mark.models
def test_outputs_that_nothing_reads_are_left_out():
    graph = Graph()
    x = graph.input("x", [1, 1, 4, 4])
    graph.node("MaxPool", x, outputs=["y", "places"], kernel_shape=[2, 2])
    runs = [{"x": np.ones((1, 1, 4, 4), np.float32)}]
    expected = [np.ones((1, 1, 3, 3), np.float32)]
    trial = Trial("onnx", "MaxPool", "", graph.model("y"), runs, lambda inputs: expected)
    assert outcome(trial).verdict == "equal"
