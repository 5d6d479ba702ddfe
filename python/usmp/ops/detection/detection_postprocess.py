"""`TFLite_Detection_PostProcess`: detected objects, from a network's predictions for its anchors.

Boxes are selected by descending score, without boxes that overlap a selected one too much. TFLite
sorts the scores; here each selection searches for the greatest score, which selects the same boxes
without a sorted copy.

Source: TFLite and TFLite Micro, detection_postprocess.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tvm import relax, tirx

from usmp.ops.detection.boxes import (
    NOTHING,
    ZERO,
    find_greatest,
    intersection_over_union,
    scratch,
    when,
)
from usmp.ops.emit import shape_of
from usmp.ops.quantization import Quantization
from usmp.ops.statements import Local, call_statements, loop
from usmp.tir.nodes import sequence

_ONE = tirx.IntImm("int32", 1)
Element = Callable[[tirx.Expr, tirx.Expr | int], tirx.Expr]
"""Maps a row and a column of a matrix to the real number there."""


@dataclass(frozen=True)
class DetectionOptions:
    """The options of the operator.

    Parameters
    ----------
    max_detections
        most boxes in the output.
    max_classes
        number of classes that each box is output with, unless `is_regular`.
    detections_per_class
        most boxes of a class, if `is_regular`.
    is_regular
        whether boxes compete only within their class.
    score_threshold
        least score of a box.
    overlap_threshold
        greatest intersection over union with a better box.
    classes
        number of classes, without the background, which may come before them.
    scales
        divisors of the encoded y, x, height and width.
    """

    max_detections: int
    max_classes: int
    detections_per_class: int
    is_regular: bool
    score_threshold: float
    overlap_threshold: float
    classes: int
    scales: tuple[float, float, float, float]


@dataclass(frozen=True)
class Quantized:
    """A tensor, and its quantization; None for float32."""

    tensor: relax.Expr
    quantization: Quantization | None

    def element(self, buffer: tirx.Buffer) -> Element:
        """Return the real numbers of the tensor in a buffer, dequantized like TFLite."""
        quantization = self.quantization
        if quantization is None:
            return lambda row, column: buffer[row, column]
        zero_point = tirx.FloatImm("float32", float(quantization.zero_point))
        scale = tirx.FloatImm("float32", quantization.scale)
        return lambda row, column: (tirx.Cast("float32", buffer[row, column]) - zero_point) * scale


def detection_postprocess(
    builder: relax.BlockBuilder,
    encodings: Quantized,
    scores: Quantized,
    anchors: Quantized,
    options: DetectionOptions,
) -> list[relax.Expr]:
    """Return the detected boxes.

    Parameters
    ----------
    encodings
        [boxes, 4 or more]: y, x, height and width, relative to an anchor; others are not read.
    scores
        [boxes, classes], or [boxes, 1 + classes] with the background first.
    anchors
        [boxes, 4]: y, x, height and width.

    Returns
    -------
    list[relax.Expr]
        float32: corners [1, detections, 4], classes [1, detections], scores [1, detections], and
        the number of detections [1]. Elements after this number are zeros.
    """
    boxes = _decoded(builder, encodings, anchors, options)
    detections = options.max_detections * options.max_classes
    shapes = {
        "corners": (1, detections, 4),
        "classes": (1, detections),
        "scores": (1, detections),
        "count": (1,),
    }
    written = [(name, relax.TensorType(shape, "float32")) for name, shape in shapes.items()]
    first = shape_of(scores.tensor)[1] - options.classes

    def body(boxes: tirx.Buffer, predictions: tirx.Buffer, *outputs: tirx.Buffer) -> tirx.Stmt:
        selection = _Selection(boxes, scores.element(predictions), outputs, options)
        return sequence(selection.regular(first) if options.is_regular else selection.fast(first))

    arguments = [("boxes", boxes), ("predictions", scores.tensor)]
    return call_statements(builder, "detection_postprocess", body, arguments, written)


def _decoded(
    builder: relax.BlockBuilder, encodings: Quantized, anchors: Quantized, options: DetectionOptions
) -> relax.Expr:
    """Return the corners (y, x) of all boxes, the smaller one first: float32 [boxes, 4]."""
    count = shape_of(encodings.tensor)[0]

    def body(encoded: tirx.Buffer, anchor: tirx.Buffer, boxes: tirx.Buffer) -> tirx.Stmt:
        elements = encodings.element(encoded), anchors.element(anchor)
        return loop("box", count, lambda box: _decode(box, *elements, boxes, options.scales))

    arguments = [("encodings", encodings.tensor), ("anchors", anchors.tensor)]
    written = [("boxes", relax.TensorType((count, 4), "float32"))]
    return call_statements(builder, "decode_boxes", body, arguments, written)[0]


def _decode(
    box: tirx.Var,
    encoded: Element,
    anchor: Element,
    boxes: tirx.Buffer,
    scales: tuple[float, float, float, float],
) -> list[tirx.Stmt]:
    """Return statements that store the corners of a box, computed in float64."""
    statements: list[tirx.Stmt] = []
    for axis in (0, 1):
        center, half = (Local.of(f"{name}{axis}", "float32") for name in ("center", "half"))
        place, length = (
            tirx.Cast("float64", encoded(box, column)) / tirx.FloatImm("float64", scales[column])
            for column in (axis, axis + 2)
        )
        start, size = (tirx.Cast("float64", anchor(box, column)) for column in (axis, axis + 2))
        half_size = tirx.FloatImm("float64", 0.5) * tirx.exp(length) * size
        statements += center.declared(tirx.Cast("float32", place * size + start))
        statements += half.declared(tirx.Cast("float32", half_size))
        statements += [
            tirx.BufferStore(boxes, center.get() - half.get(), [box, axis]),
            tirx.BufferStore(boxes, center.get() + half.get(), [box, axis + 2]),
        ]
    return statements


class _Selection:
    """The selection of boxes: its buffers, variables and statements."""

    def __init__(
        self,
        boxes: tirx.Buffer,
        score: Element,
        outputs: Sequence[tirx.Buffer],
        options: DetectionOptions,
    ) -> None:
        self.boxes, self.score, self.options = boxes, score, options
        self.corners, self.classes, self.scores, self.number = outputs
        self.count = int(boxes.shape[0])
        self.active = scratch((self.count,), "int8", "active")
        self.top, self.more = Local.of("top", "int32"), Local.of("more", "int32")
        self.taken = Local.of("taken", "int32")

    def fast(self, first: int) -> list[tirx.Stmt]:
        """Return a selection in which boxes compete by their greatest score of all classes."""
        options = self.options
        greatest = scratch((self.count,), "float32", "greatest")
        best = Local.of("greatest_score", "float32")

        def begin(box: tirx.Var) -> list[tirx.Stmt]:
            def compare(index: tirx.Var) -> tirx.Stmt:
                value = self.score(box, index + first)
                return when(value > best.get(), [best.set(value)])

            return [
                *best.declared(self.score(box, first)),
                loop("index", options.classes, compare),
                tirx.BufferStore(greatest, best.get(), [box]),
                *self._activate(box, best.get()),
            ]

        def take(_: tirx.Var) -> tirx.Stmt:
            search = find_greatest(
                self.count, self.top, lambda box: greatest[box], lambda box: self._is_active(box)
            )
            stored = [*self._take_classes(first), *self._suppress(), self.taken.add(_ONE)]
            return when(self.more.get() != 0, [*search, self._if_found(stored)])

        return [
            tirx.AllocBuffer(self.active),
            tirx.AllocBuffer(greatest),
            *self._begun(),
            loop("box", self.count, begin),
            self.more.set(_ONE),
            loop("detection", options.max_detections, take),
            self._store_number(),
        ]

    def regular(self, first: int) -> list[tirx.Stmt]:
        """Return a selection in which boxes compete within classes; the best of all classes remain.

        Stored scores stay in descending order, and equal scores in the order of their insertion.
        """
        options = self.options
        places = scratch((options.max_detections,), "int32", "places")
        most = min(options.detections_per_class, options.max_detections, self.count)

        def take_class(index: tirx.Var) -> list[tirx.Stmt]:
            def score(box: tirx.Expr) -> tirx.Expr:
                return self.score(box, index + first)

            def take(_: tirx.Var) -> tirx.Stmt:
                search = find_greatest(self.count, self.top, score, self._is_active)
                stored = [self._insert(index, places, score), *self._suppress()]
                return when(self.more.get() != 0, [*search, self._if_found(stored)])

            return [
                loop("box", self.count, lambda box: self._activate(box, score(box))),
                self.more.set(_ONE),
                loop("detection", most, take),
            ]

        def copy(detection: tirx.Var) -> tirx.Stmt:
            stores = [
                tirx.BufferStore(
                    self.corners, self.boxes[places[detection], side], [0, detection, side]
                )
                for side in range(4)
            ]
            return when(detection < self.taken.get(), stores)

        return [
            tirx.AllocBuffer(self.active),
            tirx.AllocBuffer(places),
            *self._begun(),
            loop("index", options.classes, take_class),
            loop("kept", options.max_detections, copy),
            self._store_number(),
        ]

    def _begun(self) -> list[tirx.Stmt]:
        """Declare the variables, and clear the outputs."""

        def clear(detection: tirx.Var) -> list[tirx.Stmt]:
            at = [tirx.IntImm("int32", 0), detection]
            corners = [tirx.BufferStore(self.corners, ZERO, [*at, side]) for side in range(4)]
            return [
                *corners,
                tirx.BufferStore(self.classes, ZERO, at),
                tirx.BufferStore(self.scores, ZERO, at),
            ]

        return [
            *self.top.declared(NOTHING),
            *self.more.declared(_ONE),
            *self.taken.declared(tirx.IntImm("int32", 0)),
            loop("cleared", int(self.scores.shape[1]), clear),
        ]

    def _activate(self, box: tirx.Expr, score: tirx.Expr) -> list[tirx.Stmt]:
        threshold = tirx.FloatImm("float32", self.options.score_threshold)
        flag = tirx.Cast("int8", score >= threshold)
        return [tirx.BufferStore(self.active, flag, [box])]

    def _is_active(self, box: tirx.Expr) -> tirx.Expr:
        return self.active[box] != tirx.IntImm("int8", 0)

    def _if_found(self, statements: list[tirx.Stmt]) -> tirx.Stmt:
        """Run the statements if a box was found; end the selection otherwise."""
        end = self.more.set(tirx.IntImm("int32", 0))
        return tirx.IfThenElse(self.top.get() >= 0, sequence(statements), end)

    def _suppress(self) -> list[tirx.Stmt]:
        """Deactivate the selected box, and the boxes that overlap it too much."""
        ratio = Local.of("ratio", "float32")
        threshold = tirx.FloatImm("float32", self.options.overlap_threshold)
        inactive = tirx.IntImm("int8", 0)

        def compare(box: tirx.Var) -> tirx.Stmt:
            overlap = intersection_over_union(
                self.boxes, self.top.get(), box, ratio, is_ordered=True
            )
            leave_out = when(
                ratio.get() > threshold, [tirx.BufferStore(self.active, inactive, [box])]
            )
            return when(self._is_active(box), [*overlap, leave_out])

        return [
            tirx.BufferStore(self.active, inactive, [self.top.get()]),
            *ratio.declared(ZERO),
            loop("other", self.count, compare),
        ]

    def _take_classes(self, first: int) -> list[tirx.Stmt]:
        """Store the selected box with its best classes; equal classes keep their order."""
        options, top = self.options, self.top.get()
        last, value = Local.of("last", "int32"), Local.of("last_score", "float32")
        best = Local.of("found", "int32")

        def score(index: tirx.Expr) -> tirx.Expr:
            return self.score(top, index + first)

        def is_left(index: tirx.Expr) -> tirx.Expr:
            is_later = tirx.all(score(index) == value.get(), index > last.get())
            return tirx.any(last.get() < 0, score(index) < value.get(), is_later)

        def take(number: tirx.Var) -> list[tirx.Stmt]:
            at = [tirx.IntImm("int32", 0), self.taken.get() * options.max_classes + number]
            corners = [
                tirx.BufferStore(self.corners, self.boxes[top, side], [*at, side])
                for side in range(4)
            ]
            return [
                *find_greatest(options.classes, best, score, is_left),
                # If a score is NaN, no class may be left: repeat the first one.
                last.set(tirx.max(best.get(), 0)),
                value.set(score(last.get())),
                *corners,
                tirx.BufferStore(self.classes, tirx.Cast("float32", last.get()), at),
                tirx.BufferStore(self.scores, value.get(), at),
            ]

        return [
            *last.declared(NOTHING),
            *value.declared(ZERO),
            *best.declared(NOTHING),
            loop("number", min(options.max_classes, options.classes), take),
        ]

    def _insert(
        self, index: tirx.Var, places: tirx.Buffer, score: Callable[[tirx.Expr], tirx.Expr]
    ) -> tirx.Stmt:
        """Insert the selected box by its score. If the output is full of scores that are at least
        as great, end the class, because its other scores are not greater."""
        most = self.options.max_detections
        zero = tirx.IntImm("int32", 0)
        value, place = Local.of("score", "float32"), Local.of("place", "int32")

        def move(step: tirx.Var) -> tirx.Stmt:
            at = most - 1 - step
            stores = [
                tirx.BufferStore(buffer, buffer[0, at - 1], [zero, at])
                for buffer in (self.scores, self.classes)
            ]
            stores += [tirx.BufferStore(places, places[at - 1], [at]), place.set(at - 1)]
            is_less = tirx.And(place.get() == at, self.scores[0, at - 1] < value.get())
            return when(is_less, stores)

        stored = [
            place.set(tirx.min(self.taken.get(), most - 1)),
            loop("step", most - 1, move),
            tirx.BufferStore(self.scores, value.get(), [zero, place.get()]),
            tirx.BufferStore(self.classes, tirx.Cast("float32", index), [zero, place.get()]),
            tirx.BufferStore(places, self.top.get(), [place.get()]),
            self.taken.set(tirx.min(self.taken.get() + 1, most)),
        ]
        has_place = tirx.Or(self.taken.get() < most, value.get() > self.scores[0, most - 1])
        return sequence(
            [
                *value.declared(score(self.top.get())),
                *place.declared(zero),
                tirx.IfThenElse(has_place, sequence(stored), self.more.set(zero)),
            ]
        )

    def _store_number(self) -> tirx.Stmt:
        return tirx.BufferStore(
            self.number, tirx.Cast("float32", self.taken.get()), [tirx.IntImm("int32", 0)]
        )
