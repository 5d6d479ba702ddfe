"""What converters of PyTorch operators share: the operator at hand, and their registry."""

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
    """A node of a decomposed program, whose arguments are read by the names of its schema.

    Parameters
    ----------
    node
        of torch.fx.
    builder
        inside a dataflow block of the function.
    argument
        what an argument is here: a Relax tensor in the place of a node.
    states
        the parameters of the function that are kept between runs.
    arithmetic
        on the sizes that only the run knows.
    """

    node: Any
    builder: relax.BlockBuilder
    argument: Callable[[Any], Any]
    states: Collection[relax.Var] = ()
    arithmetic: SizeArithmetic = field(default_factory=lambda: SizeArithmetic(Analyzer()))

    @cached_property
    def _given(self) -> dict[str, Any]:
        schema = self.node.target._schema.arguments
        defaults = {a.name: a.default_value for a in schema if a.has_default_value()}
        positional = zip((a.name for a in schema), self.node.args, strict=False)
        return defaults | dict(positional) | dict(self.node.kwargs)

    def __getitem__(self, name: str) -> Any:
        """An argument: a Relax tensor, a number, a list of these, or None."""
        return self.argument(self._given[name])

    def get(self, name: str, default: Any) -> Any:
        """An argument, or `default` if the operator has none of that name."""
        return self[name] if name in self._given else default

    def meta(self, name: str) -> Any:
        """An argument as PyTorch saw it at the export: a tensor without content, or a number."""
        value = self._given[name]
        return value.meta["val"] if isinstance(value, torch.fx.Node) else value

    @property
    def dtype(self) -> str:
        """The type of the result, or of the first of several."""
        value = self.node.meta["val"]
        return name_of(value[0].dtype if isinstance(value, tuple | list) else value.dtype)

    def emit(self, expr: Expr) -> relax.Var:
        """Bind an intermediate tensor, so that it has a type."""
        return self.builder.emit(expr)

    def is_state(self, tensor: Expr) -> bool:
        """Whether a tensor is one that is kept between runs: before the run, or after what is
        written into it so far."""
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
        """The error that says why the operator is not supported, and what to do."""
        return UnsupportedModelError(f"{described(self.node)} {reason}")


@dataclass(frozen=True)
class Missing:
    """One of several results, which is not computed; to read it is refused for this reason."""

    reason: str


Result: TypeAlias = Expr | Sequence[Expr | Missing]
Converter = Callable[[Operator], Result]
CONVERTERS: dict[str, Converter] = {}
"""The name of an operator and its overload, as in "add.Tensor" -> what gives its results."""


CONVERTERS_OF_SIZES: dict[str, Converter] = {}
"""The same of operators that depend on no input but by sizes which only the run knows; with fixed
sizes PyTorch computes what they give when the model is imported."""


def converts(*names: str) -> Callable[[Converter], Converter]:
    """Register the converter of operators of these names."""

    def register(converter: Converter) -> Converter:
        for name in names:
            if name in CONVERTERS:
                raise ValueError(f"{name} has two converters")
            CONVERTERS[name] = converter
        return converter

    return register


def described(node: Any) -> str:
    """An operator in an error."""
    return f"operator {node.target} (node {node.name})"


def name_of(dtype: torch.dtype) -> str:
    """A type's name in Relax."""
    return str(dtype).removeprefix("torch.")


def rank_of(tensor: Expr) -> int:
    """How many axes a tensor has."""
    return len(extents_of(tensor))


def of_axes(values: Sequence[int] | int, rank: int) -> list[int]:
    """One number an axis; a single one is for all."""
    given = [values] if isinstance(values, int) else list(values)
    return given * rank if len(given) == 1 else given


def constant(value: float, dtype: str) -> Expr:
    """A number as a tensor without axes.

    Raises
    ------
    ValueError
        the type cannot hold it.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        array = np.asarray(value).astype(dtype)
    if not is_float(dtype) and array != value:
        raise ValueError(f"the number {value} does not fit {dtype}")
    return relax.const(array, dtype)


def cast(value: Any, dtype: str) -> Expr:
    """A tensor or a number in another type, as PyTorch converts it."""
    if not isinstance(value, Expr):
        return constant(value, dtype)
    if dtype_of(value) == dtype:
        return value
    if dtype == "bool":
        return relax.op.not_equal(value, constant(0, dtype_of(value)))
    return relax.op.astype(value, dtype)
