"""The input of the converters of PyTorch operators, and the registry of the converters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from tvm import relax
from tvm.ir import Expr
from tvm.sym import Analyzer

from usmp.frontend.size_arithmetic import SizeArithmetic
from usmp.ops.emit import dtype_of, extents_of
from usmp.support.errors import UnsupportedModelError
from usmp.tir.dtypes import is_float


@dataclass(frozen=True)
class Operator:
    """A node of a decomposed program, whose arguments are read by their names in its schema.

    Parameters
    ----------
    node
        the torch.fx node.
    builder
        a builder inside a dataflow block of the function.
    argument
        converts an argument: nodes become Relax tensors.
    states
        the parameters of the function that may be written in place: states and changed inputs.
    arithmetic
        the arithmetic on dynamic sizes.
    """

    node: Any
    builder: relax.BlockBuilder
    argument: Callable[[Any], Any]
    states: Collection[relax.Var] = ()
    arithmetic: SizeArithmetic = field(default_factory=lambda: SizeArithmetic(Analyzer()))

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        schema = self.node.target._schema.arguments
        defaults = {a.name: a.default_value for a in schema if a.has_default_value()}
        positional = zip((a.name for a in schema), self.node.args, strict=False)
        return defaults | dict(positional) | dict(self.node.kwargs)

    def __getitem__(self, name: str) -> Any:
        """Return an argument: a Relax tensor, a number, a list of these, or None."""
        return self.argument(self._arguments[name])

    def get(self, name: str, default: Any) -> Any:
        """Return an argument, or `default` if the operator has none of that name."""
        return self[name] if name in self._arguments else default

    def meta(self, name: str) -> Any:
        """Return an argument at the export: a fake tensor, or a number."""
        value = self._arguments[name]
        return value.meta["val"] if isinstance(value, torch.fx.Node) else value

    @property
    def dtype(self) -> str:
        """The element type of the result, or of the first of several results."""
        value = self.node.meta["val"]
        return name_of(value[0].dtype if isinstance(value, tuple | list) else value.dtype)

    def emit(self, expr: Expr) -> relax.Var:
        """Bind an intermediate tensor, so that it has a type."""
        return self.builder.emit(expr)

    def is_state(self, tensor: Expr) -> bool:
        """Return whether a tensor is one of `states`, perhaps after in-place writes or reshapes."""
        while isinstance(tensor, relax.Var) and tensor not in self.states:
            value = self.builder.lookup_binding(tensor)
            name = getattr(getattr(value, "op", None), "name", "")
            if isinstance(value, relax.Var):
                tensor = value
            elif name == "relax.call_tir_inplace" and len(value.attrs.inplace_indices) == 1:
                tensor = value.args[1].fields[int(value.attrs.inplace_indices[0])]
            elif name == "relax.reshape":
                tensor = value.args[0]
            else:
                return False
        return tensor in self.states

    def refusal(self, reason: str) -> UnsupportedModelError:
        """Return the error that names the operator, the reason, and what to do."""
        return UnsupportedModelError(f"{described(self.node)} {reason}")


@dataclass(frozen=True)
class Missing:
    """A result that is not computed, with the reason why a node that reads it is refused."""

    reason: str


Result: TypeAlias = Expr | Sequence[Expr | Missing]
Converter = Callable[[Operator], Result]
CONVERTERS: dict[str, Converter] = {}
"""Name of an operator and its overload, as "add.Tensor" -> converter."""


CONVERTERS_OF_SIZES: dict[str, Converter] = {}
"""Converters of operators that depend on dynamic sizes only; with fixed sizes PyTorch folds them
during the import."""


def converts(*names: str) -> Callable[[Converter], Converter]:
    """Return a decorator that registers the converter of these operators."""

    def register(converter: Converter) -> Converter:
        for name in names:
            if name in CONVERTERS:
                raise ValueError(f"{name} has two converters")
            CONVERTERS[name] = converter
        return converter

    return register


def described(node: Any) -> str:
    """Return the name of a node in error messages."""
    return f"operator {node.target} (node {node.name})"


def name_of(dtype: torch.dtype) -> str:
    """Return the name of an element type in Relax."""
    return str(dtype).removeprefix("torch.")


def rank_of(tensor: Expr) -> int:
    """Return the number of axes of a tensor."""
    return len(extents_of(tensor))


def of_axes(values: Sequence[int] | int, rank: int) -> list[int]:
    """Return one number for each axis; a single number is repeated for all axes."""
    numbers = [values] if isinstance(values, int) else list(values)
    return numbers * rank if len(numbers) == 1 else numbers


def constant(value: float, dtype: str) -> Expr:
    """Return a number as a scalar constant.

    Raises
    ------
    ValueError
        the type cannot hold the number.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        array = np.asarray(value).astype(dtype)
    if not is_float(dtype) and array != value:
        raise ValueError(f"the number {value} does not fit {dtype}")
    return relax.const(array, dtype)


def cast(value: Any, dtype: str) -> Expr:
    """Convert a tensor or a number to another type, as PyTorch does."""
    if not isinstance(value, Expr):
        return constant(value, dtype)
    if dtype_of(value) == dtype:
        return value
    if dtype == "bool":
        return relax.op.not_equal(value, constant(0, dtype_of(value)))
    return relax.op.astype(value, dtype)
