"""Frames of samples, which may overlap."""

from __future__ import annotations

from tvm import relax, te, tirx
from tvm.ir import Expr

from usmp.ops.emit import call_operator, shape_of


def frames_of(
    builder: relax.BlockBuilder, data: Expr, length: int, hop: int, window: Expr | None
) -> Expr:
    """Return frames of samples.

    Parameters
    ----------
    data
        [batch, samples, parts].
    length
        length of a frame, in samples.
    hop
        samples from the start of a frame to the start of the next one.
    window
        [length]: factors of the samples of each frame; None for 1.

    Returns
    -------
    Expr
        [batch, frames, length, parts].
    """
    batch, samples, parts = shape_of(data)
    shape = (batch, 1 + (samples - length) // hop, length, parts)

    def compute(data: te.Tensor, *window: te.Tensor) -> te.Tensor:
        def element(batch: tirx.Var, number: tirx.Var, at: tirx.Var, part: tirx.Var) -> tirx.Expr:
            value = data(batch, number * hop + at, part)
            return value * window[0](at) if window else value

        return te.compute(shape, element, "frames")

    return call_operator(builder, "frames", compute, [data, *([] if window is None else [window])])
