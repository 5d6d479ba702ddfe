"""Checks of the axes that ONNX operators name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx

from usmp.frontend.onnx.graph.node import NotSupported
from usmp.frontend.onnx.graph.nodes import schema_of
from usmp.frontend.onnx.graph.operands import Operand

_NAMES = ("axis", "axes")
"""Names of attributes and inputs that are axes in all operators."""
_MOST_AXES = 1 << 16
_DATA = {"com.microsoft.QLinearConcat": 2}
"""Operator -> the index of the input that has the axes, if it is not the first one."""


def axis_of(axis: int, rank: int, whose: str = "its input") -> int:
    """Return an axis counted from the start; a negative axis counts from the end.

    Parameters
    ----------
    rank
        the number of axes of the tensor.
    whose
        the tensor's name in messages.

    Raises
    ------
    NotSupported
        the tensor does not have the axis.
    """
    if rank == 0:
        raise NotSupported(f"axis {axis} of {whose}, which has rank 0 and no axes")
    if not -rank <= axis < rank:
        raise NotSupported(
            f"axis {axis} is outside of {-rank} to {rank - 1}, the axes of {whose} of rank {rank}"
        )
    return axis % rank


def check_axes(
    operator: str, opset: int, operands: Sequence[Operand], attributes: Mapping[str, Any]
) -> None:
    """Check that an operator names axes which its tensors have, each once.

    Parameters
    ----------
    operator
        the name as `qualified_name` returns it.

    Raises
    ------
    NotSupported
        an axis is outside of the tensor, or is named twice.
    """
    for axes in _named_axes(operator, opset, operands, attributes):
        rank, whose = _indexed_rank(operator, axes, operands, attributes)
        if rank is None:
            _check_is_any(axes)
            continue
        if operator == "Flatten" and axes == [rank]:
            # Flatten accepts an axis equal to the rank: the output has one column.
            continue
        counted = [axis_of(axis, rank, whose) for axis in axes]
        if len(set(counted)) < len(counted):
            raise NotSupported(f"axes {axes} name an axis of {whose} of rank {rank} twice")


def _check_is_any(axes: Sequence[int]) -> None:
    """Check axes of a tensor of unknown rank, because ONNX's inference indexes memory by them."""
    for axis in axes:
        if not -_MOST_AXES <= axis < _MOST_AXES:
            raise NotSupported(f"axis {axis}, and no tensor has so many axes")


def _named_axes(
    operator: str, opset: int, operands: Sequence[Operand], attributes: Mapping[str, Any]
) -> Iterator[list[int]]:
    """Yield the axes that attributes, their default values and constant inputs name."""
    schema = schema_of(operator, opset)
    for name in _NAMES:
        axes = attributes.get(name)
        if axes is None and schema is not None and name in schema.attributes:
            default = schema.attributes[name].default_value
            axes = onnx.helper.get_attribute_value(default) if default.name else None
        if axes is not None:
            yield [int(axis) for axis in (axes if hasattr(axes, "__iter__") else [axes])]
    for formal, operand in zip(schema.inputs if schema else (), operands, strict=False):
        if formal.name in _NAMES and operand.integers is not None:
            if formal.name == "axis" and operand.count != 1:
                raise NotSupported(f"its axis is {operand.integers}; it must be one number")
            yield operand.integers


def _indexed_rank(
    operator: str,
    axes: Sequence[int],
    operands: Sequence[Operand],
    attributes: Mapping[str, Any],
) -> tuple[int | None, str]:
    """Return the rank of the tensor that has the axes (None if it is unknown, or if the axes have
    no effect), and the tensor's name in messages."""
    place = _DATA.get(operator, 0)
    rank = operands[place].rank if place < len(operands) else None
    if operator.endswith(("QuantizeLinear", "DequantizeLinear")):
        is_of_tensor = len(operands) > 1 and operands[1].count == 1
        if is_of_tensor and not attributes.get("block_size", 0):
            # A single scale belongs to the whole tensor, so the axis has no effect.
            return None, ""
    added = _axes_added(operator, axes, attributes)
    if rank is not None and added:
        return rank + added, "its output"
    return rank, "its input"


def _axes_added(operator: str, axes: Sequence[int], attributes: Mapping[str, Any]) -> int:
    """Return the number of axes that an operator adds, if it names axes of its output; else 0."""
    if operator == "Unsqueeze":
        return len(axes)
    return int(operator == "OneHot" or bool(attributes.get("new_axis", 0)))
