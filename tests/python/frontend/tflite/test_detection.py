"""TFLite_Detection_PostProcess: options that it cannot have, and outputs of which the file does not
give the shape."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from flatbuffers import flexbuffers

import usmp
from support.operator_trials.tflite.detection import postprocess
from support.quantized_models.model import Constant, Spec, one_operator, scalar
from support.tflite_builder import Graph, options, write_model
from support.tflite_refusals import message_of
from usmp.frontend.tflite.importer import import_tflite
from usmp.relax.transform import FuseOperators

OPTIONS: dict[str, object] = {
    "max_detections": 3,
    "max_classes_per_detection": 1,
    "num_classes": 2,
    "nms_score_threshold": 0.5,
    "nms_iou_threshold": 0.5,
    "y_scale": 10.0,
    "x_scale": 10.0,
    "h_scale": 5.0,
    "w_scale": 5.0,
}
PREFIX = 'operator 0 (CUSTOM "TFLite_Detection_PostProcess", output "t3", "t4", "t5", "t6"): '
ANCHORS = np.array([[0.5, 0.5, 1, 1], [0.5, 0.6, 1, 1], [3, 3, 1, 1], [5, 5, 1, 1]], np.float32)


def real(*shape: int) -> Spec:
    return Spec(shape, 0, 0, "float32")


ENCODINGS, SCORES = real(1, 4, 4), real(1, 4, 3)
OUTPUTS = [real(1, 3, 4), real(1, 3), real(1, 3), real(1)]


def detector(
    changed: dict[str, object] | None = None,
    encodings: Spec = ENCODINGS,
    scores: Spec = SCORES,
    outputs: list[Spec] = OUTPUTS,
    anchors: np.ndarray = ANCHORS,
) -> bytes:
    given = {k: v for k, v in {**OPTIONS, **(changed or {})}.items() if v is not None}
    return postprocess([encodings, scores, Constant(anchors)], outputs, given)


def with_options(content: bytes | None) -> bytes:
    graph = Graph()
    inputs = [graph.input((1, 4, 4), "float32"), graph.input((1, 4, 3), "float32")]
    results = [*inputs, graph.constant(ANCHORS)]
    outputs = [graph.tensor(spec.shape, "float32") for spec in OUTPUTS]
    graph.operator(
        "CUSTOM",
        results,
        outputs,
        custom_code="TFLite_Detection_PostProcess",
        custom_options=content,
    )
    graph.output(*outputs)
    return write_model(graph)


REFUSED: dict[str, tuple[dict, str]] = {
    "missing": ({"max_detections": None}, "its option max_detections is missing"),
    "text": (
        {"num_classes": "two"},
        "its option num_classes must be an integer, not something else",
    ),
    "fraction": ({"num_classes": 2.5}, "its option num_classes must be an integer, not 2.5"),
    "list": ({"y_scale": [1, 2]}, "its option y_scale must be a number, not something else"),
    "flag": ({"use_regular_nms": 0.5}, "its option use_regular_nms must be a boolean, not 0.5"),
    "negative": (
        {"max_detections": -1},
        "its option max_detections is -1; it should be at least 1",
    ),
    "zero": (
        {"detections_per_class": 0},
        "its option detections_per_class is 0; it should be at least 1",
    ),
    "large": (
        {"max_detections": 2**30, "max_classes_per_detection": 2**30},
        f"its options ask for {2**30} detections of {2**30} classes each; the output may have "
        f"{2**24}",
    ),
    "zero_scale": ({"h_scale": 0.0}, "its option h_scale is 0.0; coordinates are divided by it"),
    "endless_scale": (
        {"w_scale": math.inf},
        "its option w_scale is inf; coordinates are divided by it",
    ),
    "nan": (
        {"nms_score_threshold": math.nan},
        "its option nms_score_threshold is not a number (NaN)",
    ),
    "overlap": (
        {"nms_iou_threshold": 1.5},
        "its option nms_iou_threshold is 1.5; it should be above 0 and at most 1",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_are_refused(name):
    changed, message = REFUSED[name]
    assert message_of(detector(changed)) == PREFIX + message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "it has no custom options"),
        (bytes(flexbuffers.Dumps(3)), "its custom options are no FlexBuffers map"),
        (b"\x05", "the file is damaged: its custom options point outside of themselves"),
    ],
    ids=["none", "number", "short"],
)
def test_options_that_are_no_map(content, message):
    assert message_of(with_options(content)) == PREFIX + message


@pytest.mark.slow
def test_damaged_options_are_refused_or_read():
    good, random = bytes(flexbuffers.Dumps(OPTIONS)), Random(0)
    refused = 0
    for _ in range(120):
        damaged = bytearray(good)
        for _ in range(random.randint(1, 3)):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        if random.random() < 0.2:
            del damaged[: random.randrange(len(damaged))]
        try:
            import_tflite(with_options(bytes(damaged)))
        except usmp.UnsupportedModelError as error:
            assert "fault in usmp" not in str(error)
            refused += 1
    assert refused > 60


def test_tensors_that_do_not_go_together():
    assert message_of(detector(scores=real(1, 4, 4))).removeprefix(PREFIX) == (
        'the scores "t1" has shape [1, 4, 4]; it should be [1, 4, 2]'
    )
    assert message_of(detector(anchors=ANCHORS[:3])).removeprefix(PREFIX) == (
        'the anchors "t2" has shape [3, 4]; it should be [4, 4]'
    )
    assert message_of(detector(encodings=Spec((1, 4, 4), 0.1, 0))).removeprefix(PREFIX) == (
        'the boxes "t0" is of type int8; supported: float32, uint8'
    )
    assert message_of(detector(outputs=[real(1, 2, 4), *OUTPUTS[1:]])).removeprefix(PREFIX) == (
        'output "t3" is float32[1, 2, 4]; the inputs and options give float32[1, 3, 4]'
    )


@pytest.mark.slow
@pytest.mark.cc
def test_outputs_whose_shapes_the_options_give():
    """The second box overlaps the first one by 9 / 11; the last one has too small a score."""
    content = detector(outputs=[real()] * 4)
    scores = np.array([[[0, 0.6, 0], [0, 0.5, 0.9], [0, 0.7, 0], [0.9, 0.4, 0.4]]], np.float32)
    outputs = usmp.build(import_tflite(content)).run(
        {"t0": np.zeros((1, 4, 4), np.float32), "t1": scores}
    )
    corners, classes, found, count = outputs.values()
    assert count.tolist() == [2]
    assert classes.tolist() == [[1, 0, 0]]
    assert found.tolist() == np.array([[0.9, 0.7, 0]], np.float32).tolist()
    expected = np.array([[[0, 0.1, 1, 1.1], [2.5, 2.5, 3.5, 3.5], [0, 0, 0, 0]]], np.float32)
    np.testing.assert_allclose(corners, expected, atol=1e-6)


def test_outputs_that_are_read_need_their_shapes():
    graph = Graph()
    inputs = [graph.input((1, 4, 4), "float32"), graph.input((1, 4, 3), "float32")]
    outputs = [graph.tensor((), "float32") for _ in range(4)]
    graph.operator(
        "CUSTOM",
        [*inputs, graph.constant(ANCHORS)],
        outputs,
        custom_code="TFLite_Detection_PostProcess",
        custom_options=bytes(flexbuffers.Dumps(OPTIONS)),
    )
    y = graph.tensor((), "float32")
    graph.operator("RELU", [outputs[2]], [y])
    graph.output(*outputs, y)
    assert 'output "t4" is float32[]; the inputs and options give float32[1, 3]' in message_of(
        write_model(graph)
    )


def of_two_outputs(code: str, inputs: list, outputs: list[Spec]) -> str:
    message = message_of(one_operator(code, inputs, outputs))
    return message.removeprefix(message.split("): ")[0] + "): ")


def test_selections_that_are_refused():
    boxes = [real(5, 4), real(5)]
    indices = [Spec((3,), 0, 0, "int32"), Spec((), 0, 0, "int32")]
    limits = [Constant(np.array(0.5, np.float32))] * 2
    refused = of_two_outputs("NON_MAX_SUPPRESSION_V4", [*boxes, scalar(0), *limits], indices)
    assert refused == "[0] of 5 boxes cannot be selected"
    refused = of_two_outputs("NON_MAX_SUPPRESSION_V4", [*boxes, scalar(4), *limits], indices)
    assert refused == 'output "t5" is int32[3]; the inputs and options give int32[4]'
    sigma = Constant(np.array(math.nan, np.float32))
    outputs = [indices[0], real(3), indices[1]]
    refused = of_two_outputs("NON_MAX_SUPPRESSION_V5", [*boxes, scalar(3), *limits, sigma], outputs)
    assert refused == "sigma is nan; it should be at least 0"
    refused = of_two_outputs("TOPK_V2", [real(2, 3), scalar(4)], [real(2, 4), indices[0]])
    assert refused == "[4] elements of each row of shape [2, 3] cannot be taken"


@pytest.mark.slow
@pytest.mark.cc
def test_boxes_at_what_is_selected():
    """A box without area does not overlap itself, and is selected again, as in LiteRT."""
    graph = Graph()
    boxes, scores = graph.input((3, 4), "float32"), graph.input((3,), "float32")
    limits = [graph.constant(np.array(value, np.float32)) for value in (0.5, 0.1)]
    most = graph.constant(np.array(3, np.int32))
    indices, count = graph.tensor((3,), "int32"), graph.tensor((), "int32")
    graph.operator("NON_MAX_SUPPRESSION_V4", [boxes, scores, most, *limits], [indices, count])
    chosen, flat = graph.tensor((3, 4), "float32"), graph.tensor((12,), "float32")
    graph.operator("GATHER", [boxes, indices], [chosen], options("GatherOptions"))
    shape = graph.constant(np.array([12], np.int32))
    graph.operator("RESHAPE", [chosen, shape], [flat], options("ReshapeOptions"))
    reshaped = graph.tensor((3, 1), "int32")
    column = graph.constant(np.array([3, 1], np.int32))
    graph.operator("RESHAPE", [indices, column], [reshaped], options("ReshapeOptions"))
    graph.output(flat, reshaped, count)
    given = np.array([[0, 0, 1, 1], [0, 0, 0, 1], [0.9, 1, 0, 0]], np.float32)
    found, places, number = (
        usmp.build(import_tflite(write_model(graph)))
        .run({"t0": given, "t1": np.array([0.3, 0.2, 0.4], np.float32)})
        .values()
    )
    assert places.tolist() == [[2], [1], [1]]
    assert number == 3
    assert found.tolist() == given[[2, 1, 1]].reshape(-1).tolist()


def test_integers_are_read_in_the_place_of_real_numbers():
    """No tensor of the dequantized scores is in memory."""
    encodings, scores = Spec((1, 4, 4), 0.1, 3), Spec((1, 4, 3), 1 / 256, -128)
    content = postprocess(
        [encodings, scores, Constant(ANCHORS)], OUTPUTS, OPTIONS, is_dequantized=True
    )
    fused = FuseOperators()(import_tflite(content))
    names = {variable.name_hint for variable in fused.functions}
    assert names == {"main", "decode_boxes", "detection_postprocess"}
