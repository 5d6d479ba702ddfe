"""Records of any kind of operator, for tests that look at few of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from usmp.ops.quantization import Quantization
from usmp.ops.records import QuantizedOp
from usmp.ops.rounding import Rounding
from usmp.ops.window import Layout, Layouts

Q = Quantization("int8", (0.5,), (3,))
VALUES = {
    bool: True,
    float: 0.5,
    int: 2,
    Layout: Layout("NCHW"),
    Layouts: Layouts(Layout("NCHW"), Layout("NHWC")),
    Mapping: {"has_bias": True, "channels": 3},
    Rounding: Rounding.AS_FLOAT,
}


def sample_record(
    kind: type[QuantizedOp],
    inputs: tuple[Quantization, ...] = (Q, Q),
    outputs: tuple[Quantization, ...] = (Q,),
    **parameters: Any,
) -> Any:
    """A record with a value for each parameter that must be given and is not, by its type."""
    types = get_type_hints(kind)
    others = {
        field.name: _value(types[field.name])
        for field in fields(kind)
        if field.init
        and field.default is MISSING
        and field.name not in ("inputs", "outputs", *parameters)
    }
    return kind(inputs, outputs, **parameters, **others)


def _value(type_hint: Any) -> Any:
    arguments = get_args(type_hint)
    if get_origin(type_hint) is tuple:
        return (_value(arguments[0]),) * 2
    if get_origin(type_hint) is UnionType:
        return _value(arguments[0])
    return VALUES[get_origin(type_hint) or type_hint]
