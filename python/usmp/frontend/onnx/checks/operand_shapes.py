"""Checks of the shapes and values of inputs that ONNX's shape inference does not check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from math import isfinite
from typing import Any

from usmp.frontend.onnx.graph.axes import axis_of
from usmp.frontend.onnx.graph.node import NotSupported
from usmp.frontend.onnx.graph.operands import Operand

_LONGEST_REACH = 1 << 16
"""The largest number of terms of a sum whose length is an attribute."""

_MOST_INPUTS = 5
"""The largest number of inputs of the operators below; missing ones become empty operands."""

Check = Callable[[Sequence[Operand], Mapping[str, Any]], None]


def check_operand_shapes(
    operator: str, operands: Sequence[Operand], attributes: Mapping[str, Any]
) -> None:
    """Check that the inputs and attributes of an operator fit each other, as far as they are known.

    Raises
    ------
    NotSupported
        they contradict each other, or an attribute or a constant input is out of its range.
    """
    check = _CHECKS.get(operator)
    if check is not None:
        check([*operands, *[Operand()] * _MOST_INPUTS], attributes)


def _quantize(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    data, scale, zero_point = operands[:3]
    if data.extents is None or scale.extents is None or attributes.get("block_size", 0):
        return
    if scale.count != 1:
        axis = axis_of(int(attributes.get("axis", 1)), len(data.extents))
        if scale.extents != [data.extents[axis]]:
            raise NotSupported(
                f"its scale has the shape {scale.extents}; along axis {axis} of {data.extents} it "
                f"must be [{data.extents[axis]}]"
            )
    if zero_point.extents is not None and zero_point.count != scale.count:
        raise NotSupported(
            f"its zero point has the shape {zero_point.extents}, and its scale {scale.extents}"
        )


def _dequantize(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    _quantize(operands, attributes)
    data, _, zero_point = operands[:3]
    if zero_point.dtype not in (None, data.dtype):
        raise NotSupported(f"its zero point is {zero_point.dtype}, and its input {data.dtype}")


def _instance_norm(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    """Check that an instance normalization has one scale and one bias for each channel."""
    data = operands[0]
    if data.shape is None or len(data.shape) < 2 or data.shape[1] is None:
        return
    for name, operand in zip(("scale", "bias"), operands[1:3], strict=True):
        if operand.extents not in (None, [data.shape[1]]):
            raise NotSupported(
                f"its {name} has the shape {operand.extents}; it must be [{data.shape[1]}]"
            )


def _group_norm(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    groups, shape = int(attributes["num_groups"]), operands[0].shape
    channels = None if shape is None or len(shape) < 2 else shape[1]
    if groups < 1 or (channels is not None and channels % groups):
        raise NotSupported(f"num_groups is {groups}, which does not divide {channels} channels")


def _layer_norm(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    """Check that scale and bias of a layer normalization broadcast to the normalized axes."""
    data = operands[0].extents
    if data is None:
        return
    over = data[axis_of(int(attributes.get("axis", -1)), len(data)) :]
    for name, operand in zip(("scale", "bias"), operands[1:3], strict=True):
        if operand.extents is not None and not _broadcasts(operand.extents, over):
            raise NotSupported(
                f"its {name} has the shape {operand.extents}, which does not broadcast to {over}"
            )


def _broadcasts(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Return whether `shape` broadcasts to `target` without changing `target`."""
    if len(shape) > len(target):
        return False
    pairs = zip_longest(reversed(shape), reversed(target), fillvalue=1)
    return all(extent in (1, wanted) for extent, wanted in pairs)


def _gemm(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    left, right, added = (operand.extents for operand in operands[:3])
    if left is None or right is None or added is None or len(left) != 2 or len(right) != 2:
        return
    result = [
        left[1 if attributes.get("transA", 0) else 0],
        right[0 if attributes.get("transB", 0) else 1],
    ]
    if not _broadcasts(added, result):
        raise NotSupported(f"input C has the shape {added}, which does not broadcast to {result}")


def _space_to_depth(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    block = _block(attributes)
    shape = operands[0].shape
    for extent in () if shape is None else shape[2:]:
        if extent is not None and extent % block:
            raise NotSupported(f"blocksize is {block}, which does not divide the image of {shape}")


def _depth_to_space(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    block, shape = _block(attributes), operands[0].shape
    channels = None if shape is None or len(shape) < 2 else shape[1]
    if channels is not None and channels % (block * block):
        raise NotSupported(
            f"blocksize is {block}, whose square does not divide the {channels} channels"
        )


def _block(attributes: Mapping[str, Any]) -> int:
    block = int(attributes["blocksize"])
    if block < 1:
        raise NotSupported(f"blocksize is {block}; it must be positive")
    return block


def _pad(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    """Check the widths: mirroring needs a source for each padded element, `edge` one element."""
    mode = bytes(attributes.get("mode", b"constant"))
    shape, widths = operands[0].extents, operands[1].integers
    if "pads" in attributes:
        widths = [int(width) for width in attributes["pads"]]
    if shape is None or widths is None:
        return
    named = operands[3].integers if operands[3].shape is not None else list(range(len(shape)))
    if named is None:
        return
    axes = [axis_of(axis, len(shape)) for axis in named]
    if len(widths) != 2 * len(axes):
        raise NotSupported(f"widths {widths} are not two for each of {len(axes)} axes")
    for axis, before, after in zip(axes, widths, widths[len(axes) :], strict=False):
        kept = shape[axis] + min(before, 0) + min(after, 0)
        limits = {b"reflect": kept - 1, b"edge": None if kept > 0 else 0, b"wrap": None}
        most = limits.get(mode)
        if kept < 0 or (most is not None and max(before, after) > most):
            raise NotSupported(
                f"widths {before} and {after} along axis {axis}, of whose {shape[axis]} elements "
                f"{kept} are kept, in mode {mode.decode(errors='replace')}"
            )


def _transpose(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    rank, order = operands[0].rank, attributes.get("perm")
    if rank is not None and order is not None and sorted(order) != list(range(rank)):
        raise NotSupported(f"perm {list(order)} is no order of {rank} axes")


def _range(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    values = [operand.value for operand in operands[:3]]
    numbers = [value.reshape(-1)[0].item() for value in values if value is not None and value.size]
    if not all(isfinite(number) for number in numbers) or (len(numbers) == 3 and numbers[2] == 0):
        raise NotSupported(f"its start, limit and step are {numbers}; it never ends")


def _one_hot(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    depth = operands[1].value
    if depth is not None and not all(isfinite(number) for number in depth.reshape(-1)):
        raise NotSupported(f"its depth is {depth.tolist()}")
    if operands[2].count not in (None, 2):
        raise NotSupported(f"its values have the shape {operands[2].extents}; they must be two")


def _affine_grid(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    theta, size = operands[0].extents, operands[1].integers
    if theta is None or size is None:
        return
    rank = len(size) - 2
    if rank not in (2, 3) or theta != [size[0], rank, rank + 1]:
        raise NotSupported(f"its matrices have the shape {theta}, and its size is {size}")


def _compress(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    data, condition = operands[0], operands[1].extents
    extent = data.count
    if "axis" in attributes and data.extents is not None:
        extent = data.extents[axis_of(int(attributes["axis"]), len(data.extents))]
    if condition is not None and extent is not None and condition[0] > extent:
        raise NotSupported(f"its condition has {condition[0]} elements, for {extent} of the input")


def _reshape(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    data, wanted = operands[0].extents, operands[1].integers
    if data is None or wanted is None or -1 in wanted:
        return
    keeps_zero = bool(attributes.get("allowzero", 0))
    if 0 in wanted[len(data) :] and not keeps_zero:
        raise NotSupported(f"shape {wanted} takes an extent that {data} does not have")
    pairs = enumerate(wanted)
    shape = [data[i] if extent == 0 and not keeps_zero else extent for i, extent in pairs]
    if Operand(shape).count != operands[0].count:
        raise NotSupported(f"{data} has not as many elements as {shape}")


def _local_response(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    size = int(attributes.get("size", 1))
    if not 1 <= size <= _LONGEST_REACH:
        raise NotSupported(f"size is {size}; it must be from 1 to {_LONGEST_REACH}")


def _norm(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    order = int(attributes.get("p", 2))
    if order < 1:
        raise NotSupported(f"p is {order}; it must be positive")


def _roi_align(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    ratio = int(attributes.get("sampling_ratio", 0))
    if not 0 <= ratio <= _LONGEST_REACH:
        raise NotSupported(f"sampling_ratio is {ratio}; it must be from 0 to {_LONGEST_REACH}")


def _center_crop(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    rank, shape = operands[0].rank, operands[1].extents
    if rank is None or shape is None:
        return
    axes = len(attributes.get("axes", range(rank)))
    if shape != [axes]:
        raise NotSupported(f"its shape has the shape {shape}; it must have {axes} extents")


def _concat(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    extents = [operand.extents for operand in operands]
    shapes = [shape for shape in extents if shape is not None]
    if not shapes or len({len(shape) for shape in shapes}) > 1:
        # Compare whole shapes, because the axis was checked for the rank of the first input only.
        others = shapes
    else:
        axis = axis_of(int(attributes["axis"]), len(shapes[0]))
        others = [shape[:axis] + shape[axis + 1 :] for shape in shapes]
    if any(other != others[0] for other in others):
        raise NotSupported(f"its inputs {shapes} differ along other axes than {attributes['axis']}")


def _read_position(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    _check_position(operands[1], operands[0].length, 0)


def _insert_position(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    _check_position(operands[2], operands[0].length, 1)


def _check_position(position: Operand, length: int | None, behind: int) -> None:
    if length is None or position.integers is None:
        return
    if any(not -length <= place < length + behind for place in position.integers):
        raise NotSupported(f"position {position.integers[0]} is outside of {length} tensors")


def _split(operands: Sequence[Operand], attributes: Mapping[str, Any]) -> None:
    sizes = attributes.get("split", operands[1].integers)
    if sizes is not None and min(sizes, default=0) < 0:
        raise NotSupported(f"the sizes of its parts are {list(sizes)}; none may be negative")


_CHECKS: dict[str, Check] = {
    "AffineGrid": _affine_grid,
    "CenterCropPad": _center_crop,
    "Compress": _compress,
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "DequantizeLinear": _dequantize,
    "Gemm": _gemm,
    "GlobalLpPool": _norm,
    "GroupNormalization": _group_norm,
    "InstanceNormalization": _instance_norm,
    "LRN": _local_response,
    "LayerNormalization": _layer_norm,
    "LpPool": _norm,
    "OneHot": _one_hot,
    "Pad": _pad,
    "QuantizeLinear": _quantize,
    "Range": _range,
    "Reshape": _reshape,
    "RoiAlign": _roi_align,
    "SequenceAt": _read_position,
    "SequenceErase": _read_position,
    "SequenceInsert": _insert_position,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Transpose": _transpose,
}
