"""Boxes of detected objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
from flatbuffers import flexbuffers

from support.operator_trials.tflite.draw import Draft, Draw, Model, describe, trial
from support.operator_trials.trial import Inputs, Trial
from support.quantized_models.model import Constant, Spec, add_input, add_tensor, scalar
from support.tflite_builder import Graph, Quantization, options, write_model

POSTPROCESS = 'CUSTOM "TFLite_Detection_PostProcess"'


def postprocess_trial(random: Random) -> Trial:
    """TFLite Micro takes floats, and gives one class a box; of equal scores, which LiteRT takes in
    an order of its own if there are several classes, there are none then."""
    draw = Draw(random)
    boxes, classes = draw.number(1, 40), draw.number(1, 5)
    several, is_regular = draw.number(1, 3), draw.flag()
    background, values = draw.number(0, 1), draw.choice((4, 4, 6))
    has_ties = is_regular or min(several, classes) == 1
    given = {
        "max_detections": draw.number(1, 12),
        "max_classes_per_detection": several,
        "num_classes": classes,
        "nms_score_threshold": draw.choice((0.0, 0.3, 0.5, 1e-8, -1.0)),
        "nms_iou_threshold": draw.choice((0.2, 0.5, 0.6, 1.0)),
        "y_scale": 10.0,
        "x_scale": draw.choice((10.0, 7.0)),
        "h_scale": draw.choice((5.0, 3.0)),
        "w_scale": 5,
    }
    if draw.flag() or is_regular:
        given["use_regular_nms"] = is_regular
    if draw.flag():
        given["detections_per_class"] = draw.number(1, 6)
    dtype = draw.choice(("float32", "float32", "uint8"))
    encodings = draw.spec((1, boxes, values), dtype)
    limits = {0: (-4.0, 4.0) if dtype == "float32" else (0, 255), 1: (0.0, 1.0)}
    scores = Spec((1, boxes, classes + background), 0, 0, "float32")
    if has_ties and draw.flag():
        scores = Spec(scores.shape, 1 / 256, 0, "uint8")
        limits[1] = (0, draw.choice((3, 255)))
    integer = draw.choice(("int8", "uint8"))
    before = dtype == scores.dtype == "float32" and has_ties and draw.flag()
    if before:
        least = np.iinfo(integer).min
        encodings = Spec(encodings.shape, 8 / 255, least + 128, integer)
        scores = Spec(scores.shape, 1 / 256, least, integer)
        limits = {0: (least, least + 255), 1: (least, least + 255)}
    count = given["max_detections"] * several
    outputs = [Spec(s, 0, 0, "float32") for s in ((1, count, 4), (1, count), (1, count), (1,))]
    # Several classes of one box overlap in the outputs of TFLite Micro.
    model = Model([encodings, scores, _anchors(draw, boxes, dtype)], outputs, None, limits)
    model = replace(model, is_for_litert=not is_regular and several > 1)
    content = postprocess(model.inputs, outputs, given, is_dequantized=before)
    made = trial(POSTPROCESS, content, f"{given} {describe(model)}", model, random)
    return replace(made, reference=lambda inputs: _without_rest(made, inputs, given))


def postprocess(
    inputs: Sequence[Spec | Constant | None],
    outputs: Sequence[Spec],
    given: dict[str, object],
    is_dequantized: bool = False,
) -> bytes:
    """A model of the operator, alone or with boxes and scores from DEQUANTIZE."""
    graph = Graph()
    tensors = [add_input(graph, value) for value in inputs]
    for number, value in enumerate(inputs[:2] if is_dequantized else ()):
        real_numbers = graph.tensor(value.shape, "float32")
        graph.operator("DEQUANTIZE", [tensors[number]], [real_numbers])
        tensors[number] = real_numbers
    results = [add_tensor(graph, spec) for spec in outputs]
    graph.operator(
        "CUSTOM",
        tensors,
        results,
        custom_code="TFLite_Detection_PostProcess",
        custom_options=bytes(flexbuffers.Dumps(given)),
    )
    graph.output(*results)
    return write_model(graph)


def _anchors(draw: Draw, boxes: int, dtype: str) -> Constant:
    centers = draw.generator.uniform(0, 1, (boxes, 2))
    values = np.concatenate([centers, draw.generator.uniform(0.1, 0.6, (boxes, 2))], 1)
    if dtype == "float32":
        return Constant(values.astype(np.float32))
    return Constant((values * 200 + 20).astype(np.uint8), Quantization((1 / 200,), (20,)))


def _without_rest(made: Trial, inputs: Inputs, given: dict[str, object]) -> list[np.ndarray]:
    """The outputs of the reference, which leaves what is in memory behind the detections, with
    zeros there."""
    corners, classes, scores, count = made.reference(inputs)
    several = 1 if given.get("use_regular_nms") else given["max_classes_per_detection"]
    most = min(several, given["num_classes"])
    is_set = np.zeros(classes.shape, bool)
    for detection in range(int(count[0])):
        is_set[0, detection * several : detection * several + most] = True
    zeros = [np.where(is_set, values, np.float32(0)) for values in (classes, scores)]
    return [np.where(is_set[..., None], corners, np.float32(0)), *zeros, count]


def non_max_suppression(code: str) -> Draft:
    def draft(draw: Draw) -> Model:
        boxes, most = draw.number(1, 25), draw.number(1, 12)
        sigma = [real(draw.choice((0.0, 0.2, 0.5, 3.0)))] if code.endswith("V5") else []
        # Computed thresholds are drawn as the others are.
        overlap = draw.choice((real(draw.choice((0.2, 0.5, 1.0))), Spec((), 0, 0, "float32")))
        least = draw.choice((real(draw.choice((-1.0, 0.0, 0.3))), Spec((), 0, 0, "float32")))
        corners = Spec((boxes, 4), 0, 0, "float32")
        inputs = [corners, Spec((boxes,), 0, 0, "float32"), scalar(most), overlap, least, *sigma]
        scores = [Spec((most,), 0, 0, "float32")] if sigma else []
        outputs = [Spec((most,), 0, 0, "int32"), *scores, Spec((), 0, 0, "int32")]
        limits = {0: (0.0, 1.0), 1: (-0.2, 1.0), 3: (0.1, 1.0), 4: (-1.0, 0.6)}
        return Model(inputs, outputs, options(TABLES[code]), limits)

    return draft


def real(value: float) -> Constant:
    """A float32 without axes."""
    return Constant(np.array(value, np.float32))


TABLES = {f"NON_MAX_SUPPRESSION_{v}": f"NonMaxSuppression{v}Options" for v in ("V4", "V5")}
DRAFTS = {code: non_max_suppression(code) for code in TABLES}
GENERATORS = {POSTPROCESS: postprocess_trial}
