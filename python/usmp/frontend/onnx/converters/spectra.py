"""Converters of ONNX `DFT`, `STFT` and `MelWeightMatrix`.

Source: ONNX operators, DFT-20, STFT-17, MelWeightMatrix-17, and their evaluator.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from tvm import relax
from tvm.ir import Expr

from usmp.frontend.onnx.graph.axes import axis_of
from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.ops.emit import constant, dtype_of, shape_of
from usmp.ops.signal.dft import LONGEST_SUM, dft, is_fast
from usmp.ops.signal.overlapping_frames import frames_of

_LONGEST = 1 << 16
_MOST_WEIGHTS = 1 << 22
"""Twice the largest number of elements of a mel matrix, which has about length / 2 rows."""
_TYPES = frozenset(
    {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}
    | {getattr(TensorProto, f"{u}INT{bits}") for u in ("", "U") for bits in (8, 16, 32, 64)}
)
"""Element types of a mel matrix."""


def discrete_fourier_transform(node: OnnxNode) -> Expr:
    """Convert `DFT` of real or complex numbers along one axis."""
    data = node.required(0)
    shape = shape_of(data)
    inverse = bool(node.attributes.get("inverse", 0))
    onesided = bool(node.attributes.get("onesided", 0))
    if node.opset >= 20:
        asked_axis = _number(node, 2, "the axis")
        axis = -2 if asked_axis is None else asked_axis
    else:
        axis = int(node.attributes.get("axis", 1))
    rank = len(shape)
    axis = axis_of(axis, rank)
    if rank < 2 or axis == rank - 1:
        raise NotSupported(f"axis {axis} of {rank} axes, of which the last one has the parts")
    asked_length = _number(node, 1, "the length")
    if asked_length is not None:
        length = asked_length
    else:
        length = 2 * (shape[axis] - 1) if inverse and onesided else shape[axis]
    if onesided and shape[-1] != (2 if inverse else 1):
        raise NotSupported("onesided=1 is for real numbers, and for the inverse that gives them")
    _check(data, length, inverse)
    order = [n for n in range(rank - 1) if n != axis] + [axis, rank - 1]
    if axis != rank - 2:
        data = node.builder.emit(relax.op.permute_dims(data, order))
    result = dft(node.builder, data, length, inverse=inverse, onesided=onesided)
    if axis == rank - 2:
        return result
    back = [order.index(n) for n in range(rank)]
    return relax.op.permute_dims(node.builder.emit(result), back)


def short_time_fourier_transform(node: OnnxNode) -> Expr:
    """Convert `STFT`: the DFT of windowed frames that begin every `frame_step` samples."""
    data = node.required(0)
    shape = shape_of(data)
    hop, window = _number(node, 1, "the step"), node.input(2)
    length = _number(node, 3, "the length of a frame")
    if "onesided" not in node.attributes:
        raise NotSupported(
            "onesided is left out, for which ONNX's definition and its inference of shapes do not "
            "agree; write the attribute"
        )
    onesided = bool(node.attributes["onesided"])
    if len(shape) != 3:
        raise NotSupported("its signal must have the axes batch, numbers and parts")
    if hop is None:
        raise NotSupported("it has no step")
    if length is None:
        if window is None:
            raise NotSupported("it has neither a window nor the length of a frame")
        length = prod(shape_of(window))
    if window is not None and shape_of(window) != (length,):
        raise NotSupported(f"its window has not {length} numbers, as a frame has")
    if hop < 1 or not 0 < length <= shape[1]:
        raise NotSupported(f"frames of {length} numbers, every {hop} of {shape[1]}")
    if onesided and shape[-1] != 1:
        raise NotSupported("onesided=1 is for real numbers")
    windows = [] if window is None else [window]
    _check(data, length, False, windows)
    frames = node.builder.emit(frames_of(node.builder, data, length, hop, window))
    return dft(node.builder, frames, length, inverse=False, onesided=onesided)


def mel_weight_matrix(node: OnnxNode) -> Expr:
    """Convert `MelWeightMatrix` to a constant that ONNX's evaluator computes."""
    names = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
    parameters = {}
    for index, name in enumerate(names):
        value = node.constant(index, name)
        if value is None or value.size != 1:
            raise NotSupported(f"{name} is not one number")
        parameters[name] = value.reshape(())
    bins, length, rate = (int(parameters[name]) for name in names[:3])
    if min(bins, length, rate) < 1 or max(bins, length) > _LONGEST or bins * length > _MOST_WEIGHTS:
        raise NotSupported(f"of {bins} bins of {length} numbers at a rate of {rate}")
    edges = [float(parameters[name]) for name in names[3:]]
    if not (np.isfinite(edges).all() and edges[0] >= 0):
        raise NotSupported(f"from {edges[0]} to {edges[1]} hertz")
    element = int(node.attributes.get("output_datatype", TensorProto.FLOAT))
    if element not in _TYPES:
        raise NotSupported(f"output_datatype {element} is no type of numbers")
    operator = helper.make_node(
        "MelWeightMatrix",
        names,
        ["matrix"],
        output_datatype=element,
    )
    try:
        (matrix,) = ReferenceEvaluator(operator).run(None, parameters)
    except (IndexError, ValueError, OverflowError) as error:
        raise NotSupported("its frequencies lie outside of the spectrum") from error
    return constant(np.asarray(matrix))


def _number(node: OnnxNode, index: int, name: str) -> int | None:
    """Return a constant integer input, or None if the node does not have it."""
    value = node.constant(index, name)
    if value is None:
        return None
    if value.size != 1:
        raise NotSupported(f"{name} is not one number")
    return int(value.item())


def _check(data: Expr, length: int, inverse: bool, windows: Sequence[Expr] = ()) -> None:
    """Check that `dft` supports the types and the length.

    Raises
    ------
    NotSupported
        `dft` does not support them.
    """
    for operand in (data, *windows):
        if dtype_of(operand) != "float32":
            raise NotSupported(f"of {dtype_of(operand)}; cast it to float")
    if shape_of(data)[-1] not in (1, 2):
        raise NotSupported(f"its last axis has {shape_of(data)[-1]} elements, not 1 or 2")
    longest = _LONGEST if is_fast(data, length, inverse) else LONGEST_SUM
    if not 1 <= length <= longest:
        raise NotSupported(
            f"its length is {length}; supported: 1 to {LONGEST_SUM}, and of real numbers even "
            f"lengths to {_LONGEST} without other prime factors than 2, 3 and 5"
        )
