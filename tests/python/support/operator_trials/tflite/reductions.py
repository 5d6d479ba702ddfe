"""Reductions, running sums and what normalizes along an axis."""

from __future__ import annotations

import numpy as np

from support.operator_trials.tflite.draw import QUANTIZED, Draft, Draw, Model
from support.operator_trials.trial import Tolerance
from support.quantized_models.model import Spec, int32, scalar
from support.tflite_builder import options

_SUMS = Tolerance(1e-5, 1e-4)
_TYPE_NUMBERS = {"int32": 2, "int64": 4}


def reduction(code: str) -> Draft:
    """One reduction over some axes, given in any order, more than once, from either end."""

    def draft(draw: Draw) -> Model:
        dtype = "bool" if code in ("REDUCE_ALL", "REDUCE_ANY") else draw.dtype()
        shape = draw.shape()
        rank = len(shape)
        axes = [draw.axis(rank) for _ in range(draw.number(1, rank))]
        reduced, keep = {axis % rank for axis in axes}, draw.flag()
        extents = [
            1 if axis in reduced else extent
            for axis, extent in enumerate(shape)
            if keep or axis not in reduced
        ]
        x = draw.spec(shape, dtype)
        y = draw.spec(extents, dtype) if draw.flag() else x(*extents)
        given = scalar(axes[0]) if len(axes) == 1 and draw.flag() else int32(*axes)
        limits = {0: (-2.0, 2.0)} if code == "REDUCE_PROD" and dtype == "float32" else {}
        table = options("ReducerOptions", keep_dims=keep)
        return Model([x, given], [y], table, limits, _SUMS)

    return draft


def arg(code: str) -> Draft:
    def draft(draw: Draw) -> Model:
        x = draw.spec(draw.shape(), draw.dtype())
        axis = draw.axis(len(x.shape))
        y_type = draw.choice(("int32", "int64"))
        table = {"ARG_MAX": "ArgMaxOptions", "ARG_MIN": "ArgMinOptions"}[code]
        y = Spec(np.empty(x.shape, np.int8).argmax(axis).shape, 0, 0, y_type)
        given = scalar(axis) if draw.flag() else int32(axis)
        # Ties are likely.
        limits = {0: (-2, 2)} if draw.flag(0.3) and x.dtype not in ("bool", "uint8") else {}
        return Model([x, given], [y], options(table, output_type=_TYPE_NUMBERS[y_type]), limits)

    return draft


def cumsum(draw: Draw) -> Model:
    x = draw.spec(draw.shape(), draw.dtype())
    table = options("CumsumOptions", exclusive=draw.flag(), reverse=draw.flag())
    y = draw.spec(x.shape, x.dtype)
    return Model([x, scalar(draw.axis(len(x.shape)))], [y], table, tolerance=_SUMS)


_OUTPUTS = {
    "SOFTMAX": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)},
    "LOG_SOFTMAX": {"int8": (16 / 256, 127), "uint8": (16 / 256, 255)},
    "L2_NORMALIZATION": {"int8": (1 / 128, 0), "uint8": (1 / 128, 128)},
}


def rows(code: str) -> Draft:
    """SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION."""

    def draft(draw: Draw) -> Model:
        dtype = draw.dtype(("float32", *QUANTIZED))
        x = draw.spec(draw.shape(most=12), dtype)
        y = Spec(x.shape, *_OUTPUTS[code].get(dtype, (0.01, 0)), dtype)
        if dtype == "float32":
            y = x
        table = None
        if code == "SOFTMAX":
            beta = 1.0 if draw.flag() else draw.scale(0.1, 3)
            table = options("SoftmaxOptions", beta=beta)
            if dtype == "int8" and draw.flag(0.2):
                y = Spec(x.shape, 1 / 65536, -32768, "int16")
        if code == "L2_NORMALIZATION":
            activation = 0 if draw.flag(0.7) else draw.number(1, 4)
            table = options("L2NormOptions", fused_activation_function=activation)
        return Model([x], [y], table)

    return draft


DRAFTS: dict[str, Draft] = {
    **{
        code: reduction(code)
        for code in (
            "MEAN",
            "REDUCE_ALL",
            "REDUCE_ANY",
            "REDUCE_MAX",
            "REDUCE_MIN",
            "REDUCE_PROD",
            "SUM",
        )
    },
    **{code: arg(code) for code in ("ARG_MAX", "ARG_MIN")},
    **{code: rows(code) for code in ("L2_NORMALIZATION", "LOG_SOFTMAX", "SOFTMAX")},
    "CUMSUM": cumsum,
}
