"""ONNX operators that TVM imports in a form of which later passes could see little."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvm import relax
from tvm.ir import Expr, GenericConst

from usmp.relax.check_static_shapes import has_static_shape
from usmp.relax.normalise_take_indices import count_from_start
from usmp.relax.quantised.emit import shape_of


def convert_operator(
    name: str, inputs: Sequence[Expr | None], attributes: Mapping[str, Any]
) -> Expr | None:
    """The Relax expression of an ONNX operator; none if TVM's own conversion serves."""
    converter = _CONVERTERS.get(name)
    return converter(inputs, attributes) if converter else None


def _clip(inputs: Sequence[Expr | None], attributes: Mapping[str, Any]) -> Expr | None:
    """`R.clip` in the place of two TIR functions, as the bounds are constants."""
    data, *bounds = inputs
    limits = [float(attributes.get("min", -math.inf)), float(attributes.get("max", math.inf))]
    for index, bound in enumerate(bounds):
        if bound is None:
            continue
        if not isinstance(bound, GenericConst):
            return None
        limits[index] = float(bound.value.numpy().item())
    if data is None or any(map(math.isnan, limits)) or str(data.ty.dtype) != "float32":
        return None
    if limits == [0.0, math.inf]:
        return relax.op.nn.relu(data)
    return relax.op.clip(data, *limits)


def _pad(inputs: Sequence[Expr | None], attributes: Mapping[str, Any]) -> Expr | None:
    """`R.nn.pad` in the place of a TIR function, if every extent is padded with one constant."""
    data, widths, value, *axes = [*inputs, None, None, None][:4]
    if attributes.get("mode", b"constant") != b"constant" or any(a is not None for a in axes):
        return None
    if data is None or not isinstance(widths, GenericConst):
        return None
    if value is not None and not isinstance(value, GenericConst):
        return None
    flat = [int(width) for width in widths.value.numpy()]
    if any(width < 0 for width in flat):
        return None
    rank = len(flat) // 2
    pairs = [width for pair in zip(flat[:rank], flat[rank:], strict=True) for width in pair]
    fill = value.value.numpy().item() if value is not None else 0
    return relax.op.nn.pad(data, pairs, "constant", fill)


def _gather(inputs: Sequence[Expr | None], attributes: Mapping[str, Any]) -> Expr | None:
    """`R.take` of constants, where TVM lets the model find out at run time which are negative."""
    data, indices = inputs
    if not isinstance(indices, GenericConst) or isinstance(data, GenericConst):
        return None
    if data is None or not has_static_shape(data.ty):
        return None
    axis = int(attributes.get("axis", 0))
    counted = count_from_start(indices.value.numpy(), shape_of(data), axis)
    return relax.op.take(data, relax.const(counted), axis, mode="fast")


_Converter = Callable[[Sequence[Expr | None], Mapping[str, Any]], Expr | None]
_CONVERTERS: dict[str, _Converter] = {"Clip": _clip, "Gather": _gather, "Pad": _pad}
