"""Elements that are ordered, or combined where indices say."""

from __future__ import annotations

import numpy as np

from support.operator_trials.tflite.draw import Draft, Draw, Model
from support.operator_trials.trial import Tolerance
from support.quantized_models.model import Constant, Spec, int32, scalar
from support.tflite_builder import options

_SUMS = Tolerance(1e-5, 1e-4)


def top_k(draw: Draw) -> Model:
    """Ties are likely in some."""
    x = draw.spec(draw.shape(1, 4, 9), draw.dtype())
    count = draw.number(1, x.shape[-1])
    k_type, index_type = (draw.choice((np.int32, np.int32, np.int16)) for _ in range(2))
    outputs = [x(*x.shape[:-1], count), Spec((*x.shape[:-1], count), 0, 0, index_type.__name__)]
    limits = {0: (0, 3)} if draw.flag(0.4) and x.dtype != "bool" else {}
    given = Constant(np.array(count, k_type))
    return Model([x, given], outputs, options("TopKV2Options"), limits)


def scatter_nd(draw: Draw) -> Model:
    shape = draw.shape(1, 4, 4)
    axes = draw.number(1, len(shape))
    outer = draw.shape(1, 2, 5)
    y = draw.spec(shape, draw.dtype())
    drawn = [draw.generator.integers(0, extent, outer) for extent in shape[:axes]]
    indices = Constant(np.stack(drawn, -1).astype(np.int32))
    inputs = [indices, y(*outer, *shape[axes:]), int32(*shape)]
    if draw.flag(0.4):
        inputs[0] = Spec((*outer, axes), 0, 0, "int32")
    limits = {0: (0, min(shape[:axes]) - 1)}
    return Model(inputs, [y], options("ScatterNdOptions"), limits, _SUMS)


def segment_sum(draw: Draw) -> Model:
    x = draw.spec(draw.shape(1, 4), draw.dtype())
    steps = draw.generator.integers(0, 2, x.shape[0])
    segments = np.cumsum(steps).astype(np.int32) - steps[0].astype(np.int32)
    y = x(int(segments[-1]) + 1, *x.shape[1:])
    return Model([x, Constant(segments)], [y], options("SegmentSumOptions"), tolerance=_SUMS)


def unsorted_segment(reduction: str) -> Draft:
    """Return what draws segments over the first axes, some of them empty or negative."""

    def draft(draw: Draw) -> Model:
        x = draw.spec(draw.shape(0, 4), draw.dtype())
        rank, count = draw.number(0, len(x.shape)), draw.number(1, 6)
        segments: Spec | Constant = Spec(x.shape[:rank], 0, 0, "int32")
        if draw.flag():
            drawn = draw.generator.integers(-2, count, x.shape[:rank])
            segments = Constant(np.asarray(drawn, np.int32))
        number = draw.choice([scalar(count), int32(count)])
        table = options(f"UnsortedSegment{reduction.title()}Options")
        y = x(count, *x.shape[rank:])
        return Model([x, segments, number], [y], table, {1: (-2, count - 1)})

    return draft


DRAFTS: dict[str, Draft] = {
    "SCATTER_ND": scatter_nd,
    "SEGMENT_SUM": segment_sum,
    "TOPK_V2": top_k,
    **{
        f"UNSORTED_SEGMENT_{reduction}": unsorted_segment(reduction)
        for reduction in ("MAX", "MIN", "PROD", "SUM")
    },
}
