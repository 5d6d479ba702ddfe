"""TFLite_Detection_PostProcess and NON_MAX_SUPPRESSION: boxes of detected objects."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.file.custom_options import CustomOptions
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.file.read import custom_operator, vector
from usmp.frontend.tflite.options import require_rank, require_shape, require_types
from usmp.ops.detection.detection_postprocess import (
    DetectionOptions,
    Quantized,
    detection_postprocess,
)
from usmp.ops.detection.non_max_suppression import non_max_suppression
from usmp.ops.quantized.conversion import before_dequantization

_SCALES = ("y_scale", "x_scale", "h_scale", "w_scale")
_LARGEST = 2**31 - 1
_MOST_DETECTIONS = 2**24
"""Most detections: an output holds their number as a float32, which is exact up to 2**24."""
_DEFAULT_PER_CLASS = 100
"""The default of the option `detections_per_class`."""


@converts(custom_operator("TFLite_Detection_PostProcess"), moves=True)
def convert_detection_postprocess(context: Context, operator: TfliteOperator) -> None:
    """Append a TFLite_Detection_PostProcess of encoded boxes, scores and anchors.

    TFLite's own kernel also takes uint8, TFLite Micro's only float32.
    """
    encodings, scores, anchors = (operator.input(index) for index in range(3))
    require_types(operator, encodings, "the boxes", ("float32", "uint8"))
    require_types(operator, anchors, "the anchors", (encodings.dtype,))
    require_types(operator, scores, "the scores", ("float32", "uint8"))
    require_rank(operator, encodings, "the boxes", (3,))
    boxes, values = encodings.shape[1:]
    options = _options(operator)
    if encodings.shape[0] != 1 or boxes < 1 or values < 4:
        raise operator.unsupported(
            f'the boxes "{encodings.name}" have shape {list(encodings.shape)}; it should be 1, '
            "at least 1, and at least 4"
        )
    with_background = int(scores.shape == (1, boxes, options.classes + 1))
    require_shape(operator, scores, "the scores", (1, boxes, options.classes + with_background))
    require_shape(operator, anchors, "the anchors", (boxes, 4))
    results = detection_postprocess(
        context.builder,
        _quantized(context, operator, encodings, (boxes, values)),
        _quantized(context, operator, scores, scores.shape[1:]),
        _quantized(context, operator, anchors, anchors.shape),
        options,
    )
    _set_outputs(context, operator, results, ("float32",) * len(results))


@converts("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", moves=True)
def convert_non_max_suppression(context: Context, operator: TfliteOperator) -> None:
    """Append a NON_MAX_SUPPRESSION. Inputs: boxes, scores, the number of boxes to select, the
    thresholds of overlap and score; in version 5 also sigma, which reduces scores."""
    is_soft = operator.name == "NON_MAX_SUPPRESSION_V5"
    boxes, scores = operator.input(0), operator.input(1)
    require_types(operator, boxes, "the boxes", ("float32",))
    require_types(operator, scores, "the scores", ("float32",))
    require_rank(operator, boxes, "the boxes", (2,))
    require_shape(operator, boxes, "the boxes", (boxes.shape[0], 4))
    require_shape(operator, scores, "the scores", boxes.shape[:1])
    thresholds = [operator.input(index) for index in (3, 4)]
    for tensor in thresholds:
        require_types(operator, tensor, "threshold", ("float32",))
        require_shape(operator, tensor, "threshold", ())
    most = [int(value) for value in operator.integers(2).reshape(-1)]
    if len(most) != 1 or not 1 <= most[0] <= _MOST_DETECTIONS or boxes.shape[0] == 0:
        raise operator.unsupported(f"{most} of {boxes.shape[0]} boxes cannot be selected")
    results = non_max_suppression(
        context.builder,
        context.value(boxes),
        context.value(scores),
        [context.value(tensor) for tensor in thresholds],
        most[0],
        _decay(operator) if is_soft else None,
    )
    types = ("int32", "float32", "int32") if is_soft else ("int32", "int32")
    _set_outputs(context, operator, results, types)


def _decay(operator: TfliteOperator) -> float:
    """Return `decay` of the scores' factor exp(decay * overlap**2), in float32; 0 keeps the scores.

    Raises
    ------
    UnsupportedModelError
        sigma is computed, negative or NaN.
    """
    sigma = operator.input(5)
    require_types(operator, sigma, "sigma", ("float32",))
    require_shape(operator, sigma, "sigma", ())
    value = float(operator.constant(5).item())
    if not value >= 0:
        raise operator.unsupported(f"sigma is {value}; it should be at least 0")
    with np.errstate(over="ignore"):
        return float(np.float32(-0.5 / value)) if value > 0 else 0.0


def _options(operator: TfliteOperator) -> DetectionOptions:
    """Return the options, after checks of their ranges.

    Raises
    ------
    UnsupportedModelError
        an option is out of its range.
    """
    options = CustomOptions(operator)
    is_regular = options.flag("use_regular_nms", False)
    scales = [options.real(name) for name in _SCALES]
    for name, scale in zip(_SCALES, scales, strict=True):
        if scale == 0 or math.isinf(scale):
            raise operator.unsupported(
                f"its option {name} is {scale}; coordinates are divided by it"
            )
    overlap = options.real("nms_iou_threshold")
    if not 0 < overlap <= 1:
        raise operator.unsupported(
            f"its option nms_iou_threshold is {overlap}; it should be above 0 and at most 1"
        )
    most = _count(operator, options, "max_detections")
    classes = _count(operator, options, "max_classes_per_detection")
    if most * classes > _MOST_DETECTIONS:
        raise operator.unsupported(
            f"its options ask for {most} detections of {classes} classes each; the output may have "
            f"{_MOST_DETECTIONS}"
        )
    return DetectionOptions(
        max_detections=most,
        max_classes=classes,
        detections_per_class=_count(operator, options, "detections_per_class", _DEFAULT_PER_CLASS),
        is_regular=is_regular,
        score_threshold=options.real("nms_score_threshold"),
        overlap_threshold=overlap,
        classes=_count(operator, options, "num_classes"),
        scales=(scales[0], scales[1], scales[2], scales[3]),
    )


def _count(
    operator: TfliteOperator, options: CustomOptions, name: str, default: int | None = None
) -> int:
    count = options.integer(name, default)
    if not 1 <= count <= _LARGEST:
        raise operator.unsupported(f"its option {name} is {count}; it should be at least 1")
    return count


def _quantized(
    context: Context, operator: TfliteOperator, tensor: TfliteTensor, shape: tuple[int, ...]
) -> Quantized:
    """Return a tensor without its batch axis. The integers before a DEQUANTIZE are used instead of
    its result, because they take less memory."""
    value = context.value(tensor)
    quantization = operator.quantization(tensor) if tensor.dtype == "uint8" else None
    if quantization is None:
        value, quantization = before_dequantization(context.builder, value)
    return Quantized(reshaped(context, value, shape), quantization)


def _set_outputs(
    context: Context, operator: TfliteOperator, results: list[relax.Expr], types: tuple[str, ...]
) -> None:
    """Set the outputs. A file may leave out their shapes, which follow from the options. Check the
    shape of an output that an operator reads, because a missing shape would mean a scalar."""
    if len(operator.outputs) != len(results):
        raise operator.unsupported(f"it has {len(operator.outputs)} outputs, not {len(results)}")
    for tensor, result, dtype in zip(operator.outputs, results, types, strict=True):
        require_types(operator, tensor, "output", (dtype,))
        as_output = vector(tensor.graph, "Outputs").count(tensor.index)
        if tensor.shape or context.readers[tensor.index] > as_output:
            context.set_moved(operator, result, tensor)
        else:
            context.set(tensor, result)
