"""Dynamic sizes of a PyTorch program, from `torch.export.Dim`.

A file has their ranges, but not their names, so they are named after an input and an axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch.export.graph_signature import InputKind
from tvm import tirx
from tvm.ir import Var

from usmp.frontend.dynamic_sizes import AskedSizes, DynamicSize, resolved_sizes
from usmp.objects.symbolic_size import SymbolicSize
from usmp.plain.entry_size import LARGEST_SIZE
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown
from usmp.support.text.unique_names import UniqueNames


@dataclass(frozen=True)
class ProgramSizes:
    """The resolved sizes of a program.

    Parameters
    ----------
    sizes
        the sizes in the order of the inputs.
    symbols
        the name of each size in the program, as "s27".
    shapes
        name of an input -> shape of numbers and shape variables.
    variables
        the shape variables of the sizes without a number.
    """

    sizes: list[DynamicSize]
    symbols: list[str]
    shapes: dict[str, list[Any]] = field(default_factory=dict)
    variables: list[Var] = field(default_factory=list)

    @property
    def bounded(self) -> list[SymbolicSize]:
        """The sizes that stay dynamic, with their bounds."""
        return [size.bounded for size in self.sizes if size.number is None]


def program_sizes(program: Any, asked: AskedSizes) -> ProgramSizes:
    """Resolve the dynamic sizes of a program.

    Raises
    ------
    UnsupportedModelError
        a size has no upper bound, or an extent of an input is an expression of sizes.
    ValueError
        the program does not have a size that the user names, or its range excludes the value.
    """
    extents = _input_extents(program)
    names = _names(extents)
    ranges = {
        names[str(symbol)]: _bounds(values)
        for symbol, values in program.range_constraints.items()
        if str(symbol) in names
    }
    named = {
        name: [names.get(extent, extent) if isinstance(extent, str) else extent for extent in shape]
        for name, shape in extents.items()
    }
    sizes = resolved_sizes(named, asked, ranges)
    value_of: dict[str, Any] = {
        size.name: tirx.Var(size.symbol, "int64") if size.number is None else size.number
        for size in sizes
    }
    shapes = {
        name: [value_of[extent] if isinstance(extent, str) else extent for extent in shape]
        for name, shape in named.items()
    }
    symbols = {name: symbol for symbol, name in names.items()}
    variables = [value for value in value_of.values() if not isinstance(value, int)]
    return ProgramSizes(sizes, [symbols[size.name] for size in sizes], shapes, variables)


def _input_extents(program: Any) -> dict[str, list[str | int]]:
    """Return the shapes of the inputs: numbers, and symbols of the program."""
    inputs = [
        s.arg.name for s in program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT
    ]
    values = {n.name: n.meta["val"] for n in program.graph.nodes if n.op == "placeholder"}
    extents: dict[str, list[str | int]] = {}
    for name in inputs:
        shape = values[name].shape
        extents[name] = [extent if isinstance(extent, int) else str(extent) for extent in shape]
        for size in shape:
            if not isinstance(size, int) and not size.node.expr.is_Symbol:
                raise UnsupportedModelError(
                    f'input "{shown(name)}" has a dynamic shape, '
                    f"[{', '.join(shown(extent) for extent in extents[name])}], of which {size} is "
                    "computed of another size; export the model with fixed input shapes, or with "
                    "a size of its own for each extent"
                )
    return extents


def _names(extents: dict[str, list[str | int]]) -> dict[str, str]:
    """Return symbol -> name of a size, made of the first input that has it, and the axis."""
    unique = UniqueNames()
    names: dict[str, str] = {}
    for name, shape in extents.items():
        for axis, extent in enumerate(shape):
            if isinstance(extent, str) and extent not in names:
                names[extent] = unique.unique(f"{name}_{axis}")
    return names


def _bounds(values: Any) -> tuple[int, int | None]:
    """Return the bounds of a range of PyTorch; the upper bound may be None."""
    lower, upper = (
        None if not _is_number(bound) else int(bound) for bound in (values.lower, values.upper)
    )
    return (1 if lower is None else lower), (
        None if upper is None or upper > LARGEST_SIZE else upper
    )


def _is_number(bound: Any) -> bool:
    return bool(getattr(bound, "is_Integer", isinstance(bound, int)))
