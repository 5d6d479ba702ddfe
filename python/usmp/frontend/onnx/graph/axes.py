"""The axes that ONNX operators name: those of all operators are checked here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx

from usmp.frontend.onnx.graph.node import NotSupported
from usmp.frontend.onnx.graph.nodes import schema_of
from usmp.frontend.onnx.graph.operands import Operand

_NAMES = ("axis", "axes")
"""Attributes and inputs of these names are axes in all operators."""
_MOST_AXES = 1 << 16
_DATA = {"com.microsoft.QLinearConcat": 2}
"""The place of the input that has the axes, where that is not the first one."""


def axis_of(axis: int, rank: int, whose: str = "its input") -> int:
    """Return the axis, counted from the start.

    Parameters
    ----------
    rank
        of the tensor, whose axes count from `-rank`, too.
    whose
        the tensor, as messages name it.

    Raises
    ------
    NotSupported
        the tensor does not have it.
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
        the name, with the domain in front if it is not that of ONNX.

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
            # Behind the last axis: the output has one column.
            continue
        counted = [axis_of(axis, rank, whose) for axis in axes]
        if len(set(counted)) < len(counted):
            raise NotSupported(f"axes {axes} name an axis of {whose} of rank {rank} twice")


def _check_is_any(axes: Sequence[int]) -> None:
    """Check axes of a tensor of unknown rank. ONNX's own inference reads memory by them."""
    for axis in axes:
        if not -_MOST_AXES <= axis < _MOST_AXES:
            raise NotSupported(f"axis {axis}, and no tensor has so many axes")


def _named_axes(
    operator: str, opset: int, operands: Sequence[Operand], attributes: Mapping[str, Any]
) -> Iterator[list[int]]:
    """The axes that attributes, their default values and constant inputs name."""
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
    """The rank of the tensor whose axes these are, if it is known and they matter."""
    place = _DATA.get(operator, 0)
    rank = operands[place].rank if place < len(operands) else None
    if operator.endswith(("QuantizeLinear", "DequantizeLinear")):
        is_of_tensor = len(operands) > 1 and operands[1].count == 1
        if is_of_tensor and not attributes.get("block_size", 0):
            # One scale is that of the whole tensor, whatever the axis is.
            return None, ""
    added = _axes_added(operator, axes, attributes)
    if rank is not None and added:
        return rank + added, "its output"
    return rank, "its input"


def _axes_added(operator: str, axes: Sequence[int], attributes: Mapping[str, Any]) -> int:
    """How many more axes the output has, in operators whose axes are those of the output."""
    if operator == "Unsqueeze":
        return len(axes)
    return int(operator == "OneHot" or bool(attributes.get("new_axis", 0)))
