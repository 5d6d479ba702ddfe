"""Operators that keep samples from one run to the next."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from tvm import relax, te, tirx

from usmp.ops.emit import call_operator, constant, shape_of
from usmp.ops.quantized.rescaling.fixed_point import int32
from usmp.ops.signal.bits import saturated_int16
from usmp.ops.statements import Local, call_in_place, loop
from usmp.tir.nodes import sequence


def extended(
    builder: relax.BlockBuilder, before: relax.Expr, data: relax.Expr
) -> tuple[relax.Expr, relax.Expr]:
    """Return the samples of earlier runs and of this run, and the last of these samples: the next
    state.

    Parameters
    ----------
    before
        (..., m): the state.
    data
        (..., n).

    Returns
    -------
    tuple[relax.Expr, relax.Expr]
        (..., m + n) and (..., m).
    """
    axis, kept, new = len(shape_of(data)) - 1, shape_of(before)[-1], shape_of(data)[-1]
    window = builder.emit(relax.op.concat([before, data], axis=axis))
    return window, part(builder, window, new, kept)


def part(builder: relax.BlockBuilder, data: relax.Expr, begin: int, count: int) -> relax.Expr:
    """Return `count` elements along the last axis, from `begin` on."""
    axis = len(shape_of(data)) - 1
    if count == shape_of(data)[axis]:
        return data
    return builder.emit(relax.op.strided_slice(data, [axis], [begin], [begin + count]))


def frames(
    builder: relax.BlockBuilder, data: relax.Expr, count: int, size: int, step: int
) -> relax.Expr:
    """Return frames of `size` samples; each begins `step` samples after the previous one.

    Parameters
    ----------
    data
        (..., (count - 1) * step + size or more).

    Returns
    -------
    relax.Expr
        (..., count, size).
    """
    shape = (*shape_of(data)[:-1], count, size)
    if count == 1 or step == size:
        samples = part(builder, data, 0, count * size)
        return builder.emit(relax.op.reshape(samples, shape))

    def compute(data: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            *outer, frame, sample = at
            return data[(*outer, frame * step + sample)]

        return te.compute(shape, element, "output")

    return builder.emit(call_operator(builder, "frames", compute, [data]))


def counted_to(
    builder: relax.BlockBuilder, count: relax.Expr, step: int, most: int
) -> tuple[relax.Expr, relax.Expr]:
    """Return whether a count has reached `most`, and the count plus `step`, limited to `most`.

    Parameters
    ----------
    count
        an int32 without axes.
    """
    limit, increment = (constant(np.array(number, np.int32)) for number in (most, step))
    is_reached = builder.emit(relax.op.equal(count, limit))
    after = relax.op.minimum(builder.emit(relax.op.add(count, increment)), limit)
    return is_reached, builder.emit(after)


def stacked(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    history: relax.Expr,
    phase: relax.Expr,
    first: int,
    step: int,
) -> list[relax.Expr]:
    """Stack the frames of earlier runs, the oldest one first, and the frame of this run.

    The first run uses its own frame for all earlier frames.

    Parameters
    ----------
    data
        (n) of int16.
    history
        (m * n) of int16, the last m frames.
    phase
        an int32 without axes: 0 in the first run; then 1 more than the number of runs without a
        result before the next result.
    first
        number of runs before the first result.
    step
        number of runs from one result to the next.

    Returns
    -------
    list[relax.Expr]
        The new `history` and `phase`; (m * n + n) of int16; a boolean without axes, whether there
        is a result.
    """
    (channels,), (kept,) = shape_of(data), shape_of(history)

    def body(
        history: tirx.Buffer,
        phase: tirx.Buffer,
        data: tirx.Buffer,
        output: tirx.Buffer,
        is_valid: tirx.Buffer,
    ) -> Iterator[tirx.Stmt]:
        waiting = Local.of("waiting", "int32")
        is_first = phase[()] == int32(0)

        def copy(
            target: tirx.Buffer, to: int, source: tirx.Buffer, begin: int, count: int
        ) -> tirx.Stmt:
            return loop(
                "index",
                count,
                lambda index: tirx.BufferStore(target, source[index + begin], [index + to]),
            )

        repeated = loop(
            "frame",
            kept // channels,
            lambda frame: loop(
                "channel",
                channels,
                lambda channel: tirx.BufferStore(
                    history, data[channel], [frame * channels + channel]
                ),
            ),
        )
        yield tirx.IfThenElse(is_first, repeated, None)
        yield from waiting.declared(tirx.if_then_else(is_first, int32(first), phase[()] - int32(1)))
        yield copy(output, 0, history, 0, kept)
        yield copy(output, kept, data, 0, channels)
        yield copy(history, 0, output, channels, kept)
        is_over = waiting.get() == int32(0)
        yield tirx.BufferStore(is_valid, is_over, [])
        yield tirx.BufferStore(phase, tirx.Select(is_over, int32(step), waiting.get()), [])

    return call_in_place(
        builder,
        "stack_frames",
        lambda *buffers: sequence(body(*buffers)),
        [("history", history), ("phase", phase), ("data", data)],
        overwritten=[0, 1],
        written=[
            ("output", relax.TensorType((kept + channels,), "int16")),
            ("is_valid", relax.TensorType((), "bool")),
        ],
    )


def overlap_add(
    builder: relax.BlockBuilder, data: relax.Expr, before: relax.Expr, step: int
) -> list[relax.Expr]:
    """Return sums of overlapping frames; each begins `step` samples after the previous one.

    Parameters
    ----------
    data
        (..., frames, size) of int16 or float32.
    before
        (..., size - step): sums that earlier runs add to this run.
    step
        1 to `size`.

    Returns
    -------
    list[relax.Expr]
        The new `before`; (..., frames * step), saturated if int16.
    """
    *outer, count, size = shape_of(data)
    rows, kept, dtype = math.prod(outer), size - step, str(data.ty.dtype)

    def added(left: tirx.Expr, right: tirx.Expr) -> tirx.Expr:
        if dtype != "int16":
            return left + right
        return saturated_int16(left.astype("int32") + right.astype("int32"))

    def body(before: tirx.Buffer, data: tirx.Buffer, output: tirx.Buffer) -> tirx.Stmt:
        def frame(row: tirx.Var, number: tirx.Var) -> list[tirx.Stmt]:
            def total(sample: tirx.Expr) -> tirx.Expr:
                value = data[row, number, sample]
                summed = added(before[row, sample], value)
                return tirx.if_then_else(sample < kept, summed, value)

            def finished(sample: tirx.Var) -> tirx.Stmt:
                return tirx.BufferStore(output, total(sample), [row, number * step + sample])

            def further(sample: tirx.Var) -> tirx.Stmt:
                return tirx.BufferStore(before, total(sample + step), [row, sample])

            return [loop("sample", step, finished), loop("sample", kept, further)]

        return loop("row", rows, lambda row: loop("frame", count, lambda n: frame(row, n)))

    flat = builder.emit(relax.op.reshape(data, (rows, count, size)))
    after, result = call_in_place(
        builder,
        "overlap_add",
        body,
        [("before", before), ("data", flat)],
        overwritten=[0],
        written=[("output", relax.TensorType((rows, count * step), dtype))],
    )
    return [after, builder.emit(relax.op.reshape(result, (*outer, count * step)))]
