"""The record of an integer operator, and its encoding in JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from usmp.ops.quantization import OutputLimits, Quantization
from usmp.ops.rounding import Rounding
from usmp.ops.window import Layout, Layouts

KINDS: dict[str, type[QuantizedOp]] = {}
"""Kind of operator -> the class of its records. The first line of the class's docstring says what
the operator computes; `x` is the real number that an integer represents. C functions are named
after these kinds; a fused function after all its kinds."""


@dataclass(frozen=True)
class QuantizedOp:
    """An integer operator; the subclass of its kind has fields for its other parameters.

    Parameters
    ----------
    inputs
        the quantization of each input, in the order of its function in `usmp.ops.quantized`;
        constants are included, but not biases and tables.
    outputs
        the quantization of each output.
    """

    kind: ClassVar[str]
    describes_extents: ClassVar[bool] = False
    """Whether parameters are positions or extents on axes, which differ for a part of a tensor."""
    inputs: tuple[Quantization, ...]
    outputs: tuple[Quantization, ...]

    def __init_subclass__(cls, kind: str | None = None) -> None:
        """Add the class to `KINDS`; without a kind, it is a base class."""
        if kind is not None:
            cls.kind = kind
            KINDS[kind] = cls

    @property
    def limits(self) -> OutputLimits:
        """The range of the output: of its type, or narrowed by a clamp."""
        (output,) = self.outputs
        clamp: tuple[int, int] | None = getattr(self, "clamp", None)
        return output.limits() if clamp is None else OutputLimits(output.dtype, *clamp)

    def as_json(self) -> dict[str, Any]:
        """Return the record as data for JSON, and for an attribute of a PrimFunc.

        Parameters with their default value are left out.
        """
        parameters = {
            name: _plain(getattr(self, name))
            for name, (field, _) in _parameters(self.kind).items()
            if getattr(self, name) != field.default
        }
        return {
            "kind": self.kind,
            "inputs": [quantization.as_json() for quantization in self.inputs],
            "outputs": [quantization.as_json() for quantization in self.outputs],
            "parameters": parameters,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> QuantizedOp:
        """Return the record of a value of `as_json`, which TVM may have converted.

        Raises
        ------
        ValueError
            there is no such kind of operator, or it has other parameters.
        """
        plain = _plain(value)
        kind, parameters = KINDS.get(plain["kind"]), plain["parameters"]
        if kind is None:
            raise ValueError(
                f'no operator is of kind "{plain["kind"]}"; there are {", ".join(sorted(KINDS))}'
            )
        known = _parameters(kind.kind)
        required = {name for name, (field, _) in known.items() if field.default is MISSING}
        if not required <= parameters.keys() <= known.keys():
            raise ValueError(
                f'operators of kind "{kind.kind}" have the parameters {", ".join(known)}; '
                f"given: {', '.join(parameters)}"
            )
        return kind(
            tuple(Quantization.from_json(quantization) for quantization in plain["inputs"]),
            tuple(Quantization.from_json(quantization) for quantization in plain["outputs"]),
            **{name: known[name][1](p) for name, p in parameters.items() if known[name][0].init},
        )


@dataclass(frozen=True, kw_only=True)
class RoundedOp(QuantizedOp):
    """An operator that multiplies by a factor.

    Parameters
    ----------
    rounding
        rounding of the product.
    """

    rounding: Rounding = Rounding.TWICE


_TEXTS: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    Layout: (lambda layout: layout.axes, Layout),
    Layouts: (lambda layouts: layouts.name, Layouts.named),
    Rounding: (lambda rounding: rounding.name.lower(), lambda text: Rounding[text.upper()]),
}
"""Types of fields that are strings in JSON: the functions that write and read them."""


@cache
def _parameters(kind: str) -> dict[str, tuple[Field[Any], Callable[[Any], Any]]]:
    """Return name -> (field, function that reads its JSON), without inputs and outputs."""
    types, (_, _, *own) = get_type_hints(KINDS[kind]), fields(KINDS[kind])
    return {field.name: (field, _reader(types[field.name])) for field in own}


def _reader(type_hint: Any) -> Callable[[Any], Any]:
    """Return the function that converts data of JSON to a value of this type."""
    for known, (_, read) in _TEXTS.items():
        if known in (type_hint, *get_args(type_hint)):
            return read
    if get_origin(type_hint) is tuple:
        element = _reader(get_args(type_hint)[0])
        return lambda values: tuple(map(element, values))
    return lambda value: value


def _plain(value: Any) -> Any:
    """Convert a value of Python, NumPy, TVM or a field to data for JSON."""
    if type(value) in _TEXTS:
        write, _ = _TEXTS[type(value)]
        return write(value)
    if isinstance(value, bool | str):
        return bool(value) if isinstance(value, bool) else str(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(element) for name, element in value.items()}
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, int | float):
        return value
    return [_plain(element) for element in value]
