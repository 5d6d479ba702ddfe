"""TFLite_Detection_PostProcess: boxes of detected objects."""

from __future__ import annotations

import math

from tvm import relax

from usmp.frontend.tflite.context import Context, converts, reshaped
from usmp.frontend.tflite.custom_options import CustomOptions
from usmp.frontend.tflite.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.options import require_rank, require_shape, require_types
from usmp.frontend.tflite.read import vector
from usmp.ops.detection_postprocess import DetectionOptions, Quantized, detection_postprocess

_SCALES = ("y_scale", "x_scale", "h_scale", "w_scale")
_LARGEST = 2**31 - 1
_MOST_DETECTIONS = 2**24
"""The output tells how many there are, in a float32."""
_DETECTIONS_PER_CLASS = 100
"""Of a class, if the options do not say."""


@converts('CUSTOM "TFLite_Detection_PostProcess"', moves=True)
def convert_detection_postprocess(context: Context, operator: TfliteOperator) -> None:
    """Inputs: encoded boxes, scores of the classes, anchors.

    TFLite's own kernel takes uint8 too, TFLite Micro's only float32.
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
    _set_outputs(context, operator, results)


def _options(operator: TfliteOperator) -> DetectionOptions:
    """The options, each of which is known to be possible.

    Raises
    ------
    UnsupportedModelError
        one is not.
    """
    given = CustomOptions(operator)
    is_regular = given.flag("use_regular_nms", False)
    scales = [given.real(name) for name in _SCALES]
    for name, scale in zip(_SCALES, scales, strict=True):
        if scale == 0 or math.isinf(scale):
            raise operator.unsupported(
                f"its option {name} is {scale}; coordinates are divided by it"
            )
    overlap = given.real("nms_iou_threshold")
    if not 0 < overlap <= 1:
        raise operator.unsupported(
            f"its option nms_iou_threshold is {overlap}; it should be above 0 and at most 1"
        )
    most = _count(operator, given, "max_detections")
    classes = _count(operator, given, "max_classes_per_detection")
    if most * classes > _MOST_DETECTIONS:
        raise operator.unsupported(
            f"its options ask for {most} detections of {classes} classes each; the output may have "
            f"{_MOST_DETECTIONS}"
        )
    return DetectionOptions(
        max_detections=most,
        max_classes=classes,
        detections_per_class=_count(operator, given, "detections_per_class", _DETECTIONS_PER_CLASS),
        is_regular=is_regular,
        score_threshold=given.real("nms_score_threshold"),
        overlap_threshold=overlap,
        classes=_count(operator, given, "num_classes"),
        scales=(scales[0], scales[1], scales[2], scales[3]),
    )


def _count(
    operator: TfliteOperator, given: CustomOptions, name: str, default: int | None = None
) -> int:
    count = given.integer(name, default)
    if not 1 <= count <= _LARGEST:
        raise operator.unsupported(f"its option {name} is {count}; it should be at least 1")
    return count


def _quantized(
    context: Context, operator: TfliteOperator, tensor: TfliteTensor, shape: tuple[int, ...]
) -> Quantized:
    """A tensor without the axis of the batch."""
    quantization = operator.quantization(tensor) if tensor.dtype == "uint8" else None
    return Quantized(reshaped(context, context.value(tensor), shape), quantization)


def _set_outputs(context: Context, operator: TfliteOperator, results: list[relax.Expr]) -> None:
    """Converters leave out the shapes of outputs, which the options give; an operator that reads
    such an output would take it for one number."""
    if len(operator.outputs) != len(results):
        raise operator.unsupported(f"it has {len(operator.outputs)} outputs, not {len(results)}")
    for tensor, result in zip(operator.outputs, results, strict=True):
        require_types(operator, tensor, "output", ("float32",))
        as_output = vector(tensor.graph, "Outputs").count(tensor.index)
        if tensor.shape or context.readers[tensor.index] > as_output:
            context.set_moved(operator, result, tensor)
        else:
            context.set(tensor, result)
