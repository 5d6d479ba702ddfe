"""Quantization with a scale for each block of elements along an axis.

Source: ONNX operators, DequantizeLinear-21, `block_size`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import relax, te, tirx
from tvm.ir import Expr, GenericConst

from usmp.ops.emit import call_operator


@dataclass(frozen=True)
class Blocks:
    """The blocks of a tensor along an axis.

    Parameters
    ----------
    axis
        the axis along which blocks follow each other.
    size
        elements of a block; the last block may be smaller.
    """

    axis: int
    size: int

    def of(self, at: tuple[tirx.Var, ...]) -> list[tirx.Expr]:
        """Return the position of an element's scale."""
        block = tirx.floordiv(at[self.axis], self.size)
        return [*at[: self.axis], block, *at[self.axis + 1 :]]

    def repeated(self, values: np.ndarray, extent: int) -> np.ndarray:
        """Repeat the values of blocks for each of `extent` elements."""
        return np.take(values, np.arange(extent) // self.size, self.axis)


def dequantize_blocks(
    builder: relax.BlockBuilder, stored: Expr, scale: Expr, zero_point: Expr, blocks: Blocks
) -> Expr:
    """Convert integers to float32; constants to a constant.

    Parameters
    ----------
    scale, zero_point
        float32 and integers, with one element for each block.
    """
    operands = [stored, scale, zero_point]
    if all(isinstance(operand, GenericConst) for operand in operands):
        values, scales, offsets = (operand.value.numpy() for operand in operands)
        extent = values.shape[blocks.axis]
        offsets = blocks.repeated(offsets, extent).astype(np.float32)
        return relax.const((values.astype(np.float32) - offsets) * blocks.repeated(scales, extent))

    def compute(stored: te.Tensor, scale: te.Tensor, zero: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            block = blocks.of(at)
            steps = stored(*at).astype("int32") - zero(*block).astype("int32")
            return steps.astype("float32") * scale(*block)

        return te.compute(stored.shape, element, "dequantized")

    return call_operator(builder, "dequantize_blocks", compute, operands)


def quantize_blocks(
    builder: relax.BlockBuilder, data: Expr, scale: Expr, zero_point: Expr, blocks: Blocks
) -> Expr:
    """Convert float32 to integers of the type of the zero points.

    Parameters
    ----------
    scale, zero_point
        float32 and integers, with one element for each block.
    """
    dtype = str(zero_point.ty.dtype)
    limits = np.iinfo(dtype)

    def compute(data: te.Tensor, scale: te.Tensor, zero: te.Tensor) -> te.Tensor:
        def element(*at: tirx.Var) -> tirx.Expr:
            block = blocks.of(at)
            steps = te.round(data(*at) / scale(*block)) + zero(*block).astype("float32")
            low, high = (tirx.const(float(limit), "float32") for limit in (limits.min, limits.max))
            return te.max(te.min(steps, high), low).astype(dtype)

        return te.compute(data.shape, element, "quantized")

    return call_operator(builder, "quantize_blocks", compute, [data, scale, zero_point])
