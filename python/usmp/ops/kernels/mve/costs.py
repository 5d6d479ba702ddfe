"""Estimates of the instructions that vector functions take, counted in their assembler."""

from __future__ import annotations

from usmp.ops.kernels.mve.products import LANES, Rows

_CALL = 70
"""The instructions of a call: arguments, saved registers, and everything outside of loops."""


def products_instructions(rows: Rows, channels: int, pixels: int, is_copied: bool) -> int:
    """Return the number of instructions to compute pixels two at a time and, with `is_copied`, to
    copy the outputs."""
    groups, (pairs, rest) = -(-channels // 4), divmod(pixels, 2)
    if channels % 4:
        pairs, rest = 0, pixels
    per_row = 6 if rows.rows > 1 else 0
    pair = groups * (rows.rows * (14 * rows.blocks + per_row) + 24) + 20
    if is_copied:
        pair += 10 + 3 * -(-2 * channels // LANES)
    single = groups * (rows.rows * (9 * rows.blocks + per_row) + 22) + 20
    return _CALL + pairs * pair + rest * single


def quads_instructions(rows: Rows, channels: int, pixels: int) -> int:
    """Return the number of instructions of pixels, four at a time; a single last one by itself."""
    whole, rest = divmod(pixels, 4)
    quad = 32 + channels * (rows.rows * (10 * rows.blocks + 9) + 24)
    single = 32 + channels * (rows.rows * (4 * rows.blocks + 9) + 24)
    return _CALL + whole * quad + (0, single, quad, quad)[rest]


def window_instructions(rows: int, columns: int, channels: int) -> int:
    """Return the number of instructions that copy `channels` channels of each tap of a window."""
    return _CALL + rows * (15 + columns * (7 + 3 * -(-channels // LANES)))


def taps_instructions(rows: Rows, channels: int) -> int:
    """Return the instructions of a pixel whose taps stay in place."""
    groups = -(-channels // 4)
    return 2 * _CALL + rows.rows * 14 + groups * (rows.rows * (9 * rows.blocks + 7) + 26)


def depthwise_instructions(taps: int, channels: int, rows: int, pixels: int) -> int:
    """Return the instructions of rows of pixels of a depthwise convolution."""
    vectors = max(-(-pixels * channels // LANES), pixels * (channels // LANES))
    return rows * (2 * _CALL + vectors * (40 + taps * 9))


def average_pool_instructions(count: int, channels: int, pixels: int) -> int:
    """Return the instructions of means of `count` elements each."""
    return pixels * (_CALL + -(-channels // 8) * (20 + 5 * count))
