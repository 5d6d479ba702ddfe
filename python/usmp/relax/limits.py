"""Limits of a model, because a file of a few hundred bytes can ask for gigabytes or hours.

All importers check these limits. Sizes are Python integers, which do not overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Call, GenericConst, Op

from usmp.relax.binding_titles import operator_title
from usmp.relax.static_shapes import LARGEST_TENSOR_BYTES, flatten_types, has_static_shape
from usmp.relax.symbolic_sizes import LargestSizes
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown
from usmp.tir.dtypes import item_bytes
from usmp.tir.nodes import nodes_of
from usmp.tir.spans import AnySpan, joined_or, with_span

MODEL_BYTES = 256 << 20
OPERATORS = 10_000

_MORE_BYTES = ", which --max-model-bytes (in Python max_model_bytes) can raise"
_INDEXED = ", because the emitted C indexes with 32 bits"
_MORE_OPERATORS = ", which --max-operators (in Python max_operators) can raise"


class LimitError(UnsupportedModelError):
    """The error of a model that asks for more memory, operators or iterations than allowed."""


@dataclass(frozen=True)
class Limits:
    """Limits of a model.

    Parameters
    ----------
    model_bytes
        most bytes of each tensor, of all constants together (including results computed from
        constants alone), and of all states together.
    operators
        largest number of operators, after functions are inlined and time steps are unrolled.
    """

    model_bytes: int = MODEL_BYTES
    operators: int = OPERATORS

    def check_tensor(self, what: str, shape: Sequence[int], item_bytes: int) -> None:
        """Check that a tensor may have this shape.

        Raises
        ------
        LimitError
            an extent is negative, or the tensor has more bytes than the limit or than C can index.
        """
        if min(map(int, shape), default=0) < 0:
            raise LimitError(
                f"{what} would have a negative extent, in the shape {list(map(int, shape))}"
            )
        needed = prod(map(int, shape)) * item_bytes
        may = f"{what} of shape {list(map(int, shape))} takes {needed} bytes; a tensor may"
        self._check_bytes(needed, may)
        if needed > LARGEST_TENSOR_BYTES:
            raise LimitError(f"{may} take {LARGEST_TENSOR_BYTES}{_INDEXED}")

    def check_constants(self, needed: int, largest: str) -> None:
        """Check the number of bytes that all constants take.

        Raises
        ------
        LimitError
            the constants exceed the limit.
        """
        self._check_bytes(
            needed,
            f"the constants of the model, and what is computed of them alone, take {needed} bytes, "
            f"the largest of them {largest}; they may",
        )

    def check_states(self, needed: int) -> None:
        """Check the number of bytes that all states take.

        Raises
        ------
        LimitError
            the states exceed the limit.
        """
        self._check_bytes(needed, f"the states up to here take {needed} bytes; they may")

    def _check_bytes(self, needed: int, subject: str) -> None:
        if needed > self.model_bytes:
            raise LimitError(f"{subject} take {self.model_bytes}{_MORE_BYTES}")

    def check_operators(self, what: str, count: int, noun: str = "operators") -> None:
        """Check the number of operators, or of `noun`.

        Raises
        ------
        LimitError
            the number exceeds the limit.
        """
        if count > self.operators:
            raise LimitError(
                f"{what} {count} {noun}; there may be {self.operators}{_MORE_OPERATORS}"
            )


DEFAULT_LIMITS = Limits()


class LimitedBuilder(relax.BlockBuilder):  # type: ignore[misc]
    """A block builder that raises when the model exceeds its limits.

    Importers append operator by operator, so a model that grows without end is stopped early. Calls
    get a span that names their operator in the model file (see `usmp.tir.model_operator`), which
    importers set by `begin_operator`.
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits
        self.span: AnySpan | None = None
        self.operators = 0
        self._take_folded: Callable[[], Iterable[AnySpan]] | None = None
        self._last: Any = None

    def begin_operator(self, span: AnySpan, take_folded: Callable[[], Iterable[AnySpan]]) -> None:
        """Give calls the span of this operator of the model file from now on.

        Parameters
        ----------
        take_folded
            returns the spans of operators folded into this one, which are joined to `span`; called
            once, when the first call is appended.
        """
        self.span, self._take_folded = span, take_folded

    def count(self) -> None:
        """Count an operator.

        Raises
        ------
        LimitError
            there are more operators than the limit.
        """
        self.operators += 1
        self.limits.check_operators("up to here the model has", self.operators)

    def emit(self, expr: Any, *arguments: Any, **options: Any) -> Any:
        """Append an operator.

        Raises
        ------
        LimitError
            the model exceeds its limits.
        """
        self._count(expr)
        if self.span is not None:
            expr = self._with_spans(expr, {})
        return self._checked(super().emit(expr, *arguments, **options))

    def normalize(self, expr: Any) -> Any:
        """Give an expression its type, and append the nested calls in it.

        Raises
        ------
        LimitError
            the model exceeds its limits.
        """
        self._count(expr)
        if self.span is not None:
            expr = self._with_spans(expr, {})
        return self._checked(super().normalize(expr))

    def _with_spans(self, expr: Any, bound: dict[Any, Any], is_read: bool = False) -> Any:
        """Return an expression in which calls without a span get the span of the operator.

        Nested calls (`is_read`) are bound to variables here, because they would lose their spans
        if TVM bound them. `bound` maps visited expressions to their results.
        """
        if expr in bound:
            return bound[expr]
        marked = expr
        if isinstance(expr, Call) and expr.span is None:
            arguments = [self._with_spans(a, bound, is_read=True) for a in expr.args]
            span = self._joined_span()
            marked = Call(expr.op, arguments, expr.attrs, expr.ty_args, span, expr.ty)
            marked = with_span(super().normalize(marked), span)
            marked = super().emit(marked) if is_read else marked
        elif isinstance(expr, relax.TupleGetItem):
            whole = self._with_spans(expr.tuple_value, bound, is_read=True)
            if not whole.same_as(expr.tuple_value):
                marked = relax.TupleGetItem(whole, expr.index)
        elif isinstance(expr, relax.Tuple):
            fields = [self._with_spans(field, bound, is_read=True) for field in expr.fields]
            if any(not a.same_as(b) for a, b in zip(fields, expr.fields, strict=True)):
                marked = relax.Tuple(fields)
        bound[expr] = marked
        return marked

    def _count(self, expr: Any) -> None:
        """Count a call, unless it is the one that was just normalized."""
        if isinstance(expr, Call) and not expr.same_as(self._last):
            self.count()

    def _joined_span(self) -> AnySpan:
        """Return the span of the operator, joined with the spans of operators folded into it."""
        assert self.span is not None
        if self._take_folded is not None:
            self.span, self._take_folded = joined_or(self.span, *self._take_folded()), None
        return self.span

    def _checked(self, expr: Any) -> Any:
        self._last = expr
        for shape, dtype in _tensors(expr):
            self.limits.check_tensor("a tensor", shape, item_bytes(dtype))
        return expr


def check_main(main: relax.Function, limits: Limits) -> None:
    """Check that an imported model is within its limits.

    Results that depend on constants alone count as constants, because they are computed at compile
    time. Symbolic sizes count as their upper bounds.

    Raises
    ------
    LimitError
        the model exceeds its limits.
    """
    sizes = LargestSizes(main)
    for param in main.params:
        for largest, dtype in sizes.tensors(param):
            limits.check_tensor(
                f'input "{shown(param.name)}", with the largest sizes',
                largest,
                item_bytes(dtype),
            )
    constants: set[tvm.ir.Expr] = set()
    held_bytes: list[tuple[int, str]] = []
    bindings = nodes_of(main.body, relax.VarBinding)
    limits.check_operators("the model has", len(bindings))
    for binding in bindings:
        value, where = binding.value, _described(binding)
        for shape, dtype in _tensors(binding.var):
            limits.check_tensor(f"{where}: a result", shape, item_bytes(dtype))
        for largest, dtype in sizes.tensors(binding.var):
            limits.check_tensor(
                f"{where}: with the largest sizes, a result", largest, item_bytes(dtype)
            )
        held = [const for const in nodes_of(value, GenericConst) if const not in constants]
        read = [var for var in nodes_of(value, tvm.ir.Var) if not isinstance(var, tvm.ir.GlobalVar)]
        is_constant = isinstance(value, Call) and isinstance(value.op, Op)
        if is_constant and constants.issuperset(read):
            held.append(binding.var)
        constants.update(held)
        held_bytes += [
            (prod(shape) * item_bytes(dtype), f"at {where}")
            for new in held
            for shape, dtype in _tensors(new)
        ]
    if held_bytes:
        limits.check_constants(sum(size for size, _ in held_bytes), max(held_bytes)[1])


def _described(binding: relax.VarBinding) -> str:
    shapes = " and ".join(str(shape) for shape, _ in _tensors(binding.var))
    return f"operator {operator_title(binding.value)} (result of shape {shapes})"


def _tensors(expr: Any) -> list[tuple[list[int], str]]:
    """Return shape and element type of each tensor of static shape in an expression's type."""
    return [
        ([int(extent) for extent in ty.shape], str(ty.dtype))
        for ty in flatten_types(expr.ty)
        if isinstance(ty, relax.TensorType) and has_static_shape(ty)
    ]
