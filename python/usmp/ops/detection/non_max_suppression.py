"""The boxes with the greatest scores, without boxes that overlap a better one.

TFLite keeps boxes in a queue; here each selection searches for the greatest score. The search
stores only a mark for each box or, if scores decay, a score and a count for each box. Of equal
scores, the first is selected.

Source: TFLite, internal/reference/non_max_suppression.h; for scores that decrease with overlap, N.
Bodla et al., "Soft-NMS: improving object detection with one line of code", 2017, arXiv:1704.04503.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax, tirx

from usmp.ops.detection.boxes import (
    NOTHING,
    ZERO,
    find_greatest,
    intersection_over_union,
    scratch,
    when,
)
from usmp.ops.statements import Local, call_statements, loop
from usmp.tir.nodes import sequence

_NO, _YES = tirx.IntImm("int32", 0), tirx.IntImm("int32", 1)


def non_max_suppression(
    builder: relax.BlockBuilder,
    boxes: relax.Expr,
    scores: relax.Expr,
    thresholds: Sequence[relax.Expr],
    most: int,
    decay: float | None,
) -> list[relax.Expr]:
    """Return the selected boxes, the best one first.

    Parameters
    ----------
    boxes
        float32 [boxes, 4]: (y, x) of two opposite corners.
    scores
        float32 [boxes].
    thresholds
        float32 without axes: the least overlap (intersection over union) at which a box is left
        out, and a number that scores must exceed.
    most
        number of boxes in the output.
    decay
        None, or at most 0: each better box multiplies a score by exp(decay * overlap**2), and the
        scores are output.

    Returns
    -------
    list[relax.Expr]
        Indices, int32 [most]; with `decay`, scores, float32 [most]; the number of selected boxes,
        int32 without axes. Elements after this number are zeros.
    """
    names = ("boxes", "scores", "overlap_threshold", "score_threshold")
    arguments = list(zip(names, [boxes, scores, *thresholds], strict=True))
    written = [("indices", relax.TensorType((most,), "int32"))]
    if decay is not None:
        written.append(("selected_scores", relax.TensorType((most,), "float32")))
    written.append(("count", relax.TensorType((), "int32")))

    def body(*buffers: tirx.Buffer) -> tirx.Stmt:
        search = _Search(buffers[: len(arguments)], buffers[len(arguments) :], most)
        return sequence(search.decaying(decay) if decay else search.by_overlap())

    return call_statements(builder, "non_max_suppression", body, arguments, written)


class _Search:
    """The buffers, variables and statements of the operator."""

    def __init__(
        self, inputs: Sequence[tirx.Buffer], outputs: Sequence[tirx.Buffer], most: int
    ) -> None:
        self.inputs, self.outputs, self.most = inputs, outputs, most
        self.boxes = int(inputs[0].shape[0])
        self.top, self.taken = Local.of("top", "int32"), Local.of("taken", "int32")
        self.candidates, self.more = Local.of("candidates", "int32"), Local.of("more", "int32")
        self.ratio = Local.of("ratio", "float32")

    def by_overlap(self) -> list[tirx.Stmt]:
        """Return a search that leaves out boxes by their overlap.

        A box is also compared with itself: TFLite selects a box without area, which does not
        overlap itself, until the output is full.
        """
        boxes, scores, overlap_threshold, _ = self.inputs
        active = scratch((self.boxes,), "int8", "active")

        def is_active(box: tirx.Expr) -> tirx.Expr:
            return active[box] != tirx.IntImm("int8", 0)

        def begin(box: tirx.Var) -> list[tirx.Stmt]:
            is_candidate = self._is_candidate(scores[box])
            flag = tirx.Cast("int8", is_candidate)
            return [
                tirx.BufferStore(active, flag, [box]),
                when(is_candidate, [self.candidates.add(_YES)]),
            ]

        def compare(box: tirx.Var) -> tirx.Stmt:
            overlap = intersection_over_union(
                boxes, box, self.top.get(), self.ratio, is_ordered=False
            )
            leave_out = tirx.BufferStore(active, tirx.IntImm("int8", 0), [box])
            is_left_out = self.ratio.get() >= overlap_threshold[()]
            return when(is_active(box), [*overlap, when(is_left_out, [leave_out])])

        def select(_: tirx.Var) -> tirx.Stmt:
            search = find_greatest(self.boxes, self.top, lambda box: scores[box], is_active)
            selected = [*self._select(scores[self.top.get()]), loop("other", self.boxes, compare)]
            accept = tirx.IfThenElse(self.top.get() >= 0, sequence(selected), self.more.set(_NO))
            is_open = tirx.And(self.more.get() != 0, self.taken.get() < self.candidates.get())
            return when(is_open, [*search, accept])

        return [
            tirx.AllocBuffer(active),
            *self._begun(),
            loop("box", self.boxes, begin),
            loop("selection", self.most, select),
            self._store_count(),
        ]

    def decaying(self, decay: float) -> list[tirx.Stmt]:
        """Return a search in which overlap reduces scores. The box with the greatest score is
        compared with the boxes that were selected since its last comparison, the latest first."""
        boxes, scores, overlap_threshold, score_threshold = self.inputs
        remaining = scratch((self.boxes,), "float32", "left")
        compared = scratch((self.boxes,), "int32", "compared")
        value, original = Local.of("value", "float32"), Local.of("original", "float32")
        is_kept, goes_on = Local.of("is_kept", "int32"), Local.of("goes_on", "int32")
        top = self.top.get()

        def begin(box: tirx.Var) -> list[tirx.Stmt]:
            return [
                tirx.BufferStore(remaining, scores[box], [box]),
                tirx.BufferStore(compared, _NO, [box]),
                when(self._is_candidate(scores[box]), [self.candidates.add(_YES)]),
            ]

        def compare(step: tirx.Var) -> tirx.Stmt:
            other = self.taken.get() - 1 - step
            overlap = intersection_over_union(
                boxes, top, self.outputs[0][other], self.ratio, is_ordered=False
            )
            ratio = self.ratio.get()
            decayed = [
                value.set(value.get() * tirx.exp(tirx.FloatImm("float32", decay) * ratio * ratio)),
                when(value.get() <= score_threshold[()], [goes_on.set(_NO)]),
            ]
            left_out = [is_kept.set(_NO), goes_on.set(_NO)]
            is_left_out = ratio >= overlap_threshold[()]
            result = tirx.IfThenElse(is_left_out, sequence(left_out), sequence(decayed))
            return when(tirx.And(goes_on.get() != 0, other >= compared[top]), [*overlap, result])

        is_unchanged = value.get() == original.get()
        kept = [
            tirx.BufferStore(remaining, value.get(), [top]),
            when(is_unchanged, self._select(value.get())),
        ]
        examined = [
            *original.declared(remaining[top]),
            *value.declared(original.get()),
            *is_kept.declared(_YES),
            *goes_on.declared(_YES),
            loop("step", self.most, compare),
            tirx.BufferStore(compared, self.taken.get(), [top]),
            # A score at the threshold excludes the box from further searches.
            tirx.IfThenElse(
                is_kept.get() != 0,
                sequence(kept),
                tirx.BufferStore(remaining, score_threshold[()], [top]),
            ),
        ]
        search = find_greatest(
            self.boxes,
            self.top,
            lambda box: remaining[box],
            lambda box: self._is_candidate(remaining[box]),
        )
        is_open = tirx.all(self.taken.get() < self.most, self.taken.get() < self.candidates.get())
        examine = tirx.IfThenElse(top >= 0, sequence(examined), self.more.set(_NO))
        step = tirx.IfThenElse(is_open, sequence([*search, examine]), self.more.set(_NO))
        return [
            tirx.AllocBuffer(remaining),
            tirx.AllocBuffer(compared),
            *self._begun(),
            loop("box", self.boxes, begin),
            tirx.While(self.more.get() != 0, step),
            self._store_count(),
        ]

    def _is_candidate(self, score: tirx.Expr) -> tirx.Expr:
        return score > self.inputs[3][()]

    def _begun(self) -> list[tirx.Stmt]:
        """Declare the variables, and clear the outputs."""

        def clear(place: tirx.Var) -> list[tirx.Stmt]:
            return [
                tirx.BufferStore(output, tirx.const(0, str(output.dtype)), [place])
                for output in self.outputs[:-1]
            ]

        return [
            *self.top.declared(NOTHING),
            *self.taken.declared(_NO),
            *self.candidates.declared(_NO),
            *self.more.declared(_YES),
            *self.ratio.declared(ZERO),
            loop("cleared", self.most, clear),
        ]

    def _select(self, score: tirx.Expr) -> list[tirx.Stmt]:
        """Store the selected box."""
        values = (self.top.get(), score)
        stores = [
            tirx.BufferStore(output, value, [self.taken.get()])
            for output, value in zip(self.outputs[:-1], values, strict=False)
        ]
        return [*stores, self.taken.add(_YES)]

    def _store_count(self) -> tirx.Stmt:
        return tirx.BufferStore(self.outputs[-1], self.taken.get(), [])
