"""How much a model may ask for: a file of a few hundred bytes can ask for gigabytes, or for hours.

All that reads models asks here. Sizes are Python integers, which do not overflow.
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
from usmp.support.plain_text import shown
from usmp.tir.nodes import nodes_of
from usmp.tir.spans import AnySpan, joined_or, with_span

MODEL_BYTES = 256 << 20
OPERATORS = 10_000

_MORE_BYTES = ", which --max-model-bytes (in Python max_model_bytes) can raise"
_INDEXED = ", because the emitted C indexes with 32 bits"
_MORE_OPERATORS = ", which --max-operators (in Python max_operators) can raise"


class LimitError(UnsupportedModelError):
    """A model asks for more memory or operators than the limit permits."""


@dataclass(frozen=True)
class Limits:
    """What a model may ask for.

    Parameters
    ----------
    model_bytes
        what a tensor may take, and what all constants may take together, in bytes; those
        that are computed from constants are among them. All states together, too.
    operators
        how many operators there may be once functions, and steps over time, are written out.
    """

    model_bytes: int = MODEL_BYTES
    operators: int = OPERATORS

    def check_tensor(self, what: str, shape: Sequence[int], item_bytes: int) -> None:
        """Check that a tensor may have this shape.

        Raises
        ------
        LimitError
            an extent is negative, or it takes more than a model may ask for or C can index.
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
        """Check that all constants may take so many bytes.

        Raises
        ------
        LimitError
            they take more than a model may ask for.
        """
        self._check_bytes(
            needed,
            f"the constants of the model, and what is computed of them alone, take {needed} bytes, "
            f"the largest of them {largest}; they may",
        )

    def check_states(self, needed: int) -> None:
        """Check that all states may take so many bytes.

        Raises
        ------
        LimitError
            they take more than a model may ask for.
        """
        self._check_bytes(needed, f"the states up to here take {needed} bytes; they may")

    def _check_bytes(self, needed: int, what: str) -> None:
        if needed > self.model_bytes:
            raise LimitError(f"{what} take {self.model_bytes}{_MORE_BYTES}")

    def check_operators(self, what: str, count: int, noun: str = "operators") -> None:
        """Check that there may be so many operators, or of what becomes as many.

        Raises
        ------
        LimitError
            there are more than a model may ask for.
        """
        if count > self.operators:
            raise LimitError(
                f"{what} {count} {noun}; there may be {self.operators}{_MORE_OPERATORS}"
            )


DEFAULT_LIMITS = Limits()


class LimitedBuilder(relax.BlockBuilder):  # type: ignore[misc]
    """A block builder in which no model becomes larger than it may.

    Importers append operator by operator, so that it sees a model that grows without end while it
    does. Calls have the span of the operator of the model file that they are appended for, which
    importers set (see `usmp.tir.model_operator`).
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits
        self.span: AnySpan | None = None
        self.operators = 0
        self._take_folded: Callable[[], Iterable[AnySpan]] | None = None
        self._last: Any = None

    def begin_operator(self, span: AnySpan, take_folded: Callable[[], Iterable[AnySpan]]) -> None:
        """Append for this operator of the model file from now on.

        Parameters
        ----------
        take_folded
            gives what joins its span; it is asked when a call is appended, and only once.
        """
        self.span, self._take_folded = span, take_folded

    def count(self) -> None:
        """Count an operator.

        Raises
        ------
        LimitError
            there are more than a model may have.
        """
        self.operators += 1
        self.limits.check_operators("up to here the model has", self.operators)

    def emit(self, expr: Any, *arguments: Any, **options: Any) -> Any:
        """Append an operator.

        Raises
        ------
        LimitError
            with it, the model is larger than it may be.
        """
        self._count(expr)
        if self.span is not None:
            expr = self._with_spans(expr, {})
        return self._checked(super().emit(expr, *arguments, **options))

    def normalize(self, expr: Any) -> Any:
        """Give an expression its type, and append what it is computed of.

        Raises
        ------
        LimitError
            with it, the model is larger than it may be.
        """
        self._count(expr)
        if self.span is not None:
            expr = self._with_spans(expr, {})
        return self._checked(super().normalize(expr))

    def _with_spans(self, expr: Any, made: dict[Any, Any], is_read: bool = False) -> Any:
        """An expression whose calls without a span have that of the operator.

        Where TVM binds what a call reads, the call loses its span. So what it reads, or what is
        read of a tuple (`is_read`), is bound here; `made` is what was bound.
        """
        if expr in made:
            return made[expr]
        marked = expr
        if isinstance(expr, Call) and expr.span is None:
            arguments = [self._with_spans(a, made, is_read=True) for a in expr.args]
            span = self._joined_span()
            marked = Call(expr.op, arguments, expr.attrs, expr.ty_args, span, expr.ty)
            marked = with_span(super().normalize(marked), span)
            marked = super().emit(marked) if is_read else marked
        elif isinstance(expr, relax.TupleGetItem):
            whole = self._with_spans(expr.tuple_value, made, is_read=True)
            if not whole.same_as(expr.tuple_value):
                marked = relax.TupleGetItem(whole, expr.index)
        elif isinstance(expr, relax.Tuple):
            fields = [self._with_spans(field, made, is_read=True) for field in expr.fields]
            if any(not a.same_as(b) for a, b in zip(fields, expr.fields, strict=True)):
                marked = relax.Tuple(fields)
        made[expr] = marked
        return marked

    def _count(self, expr: Any) -> None:
        """What was just normalized is no other operator when it is normalized again, or emitted."""
        if isinstance(expr, Call) and not expr.same_as(self._last):
            self.count()

    def _joined_span(self) -> AnySpan:
        """The span of the operator, with what was folded into it."""
        assert self.span is not None
        if self._take_folded is not None:
            self.span, self._take_folded = joined_or(self.span, *self._take_folded()), None
        return self.span

    def _checked(self, expr: Any) -> Any:
        self._last = expr
        for shape, dtype in _tensors(expr):
            self.limits.check_tensor("a tensor", shape, tvm.DataType(dtype).itemsize)
        return expr


def check_main(main: relax.Function, limits: Limits) -> None:
    """Check that an imported model is no larger than it may be.

    What depends on constants alone counts as a constant: it is computed at compile time. Sizes that
    only the run knows count as the largest that they may be.

    Raises
    ------
    LimitError
        it is larger; the message names an operator.
    """
    sizes = LargestSizes(main)
    for param in main.params:
        for largest, dtype in sizes.tensors(param):
            limits.check_tensor(
                f'input "{shown(param.name)}", with the largest sizes',
                largest,
                tvm.DataType(dtype).itemsize,
            )
    constants: set[tvm.ir.Expr] = set()
    held_bytes: list[tuple[int, str]] = []
    bindings = nodes_of(main.body, relax.VarBinding)
    limits.check_operators("the model has", len(bindings))
    for binding in bindings:
        value, where = binding.value, _described(binding)
        for shape, dtype in _tensors(binding.var):
            limits.check_tensor(f"{where}: a result", shape, tvm.DataType(dtype).itemsize)
        for largest, dtype in sizes.tensors(binding.var):
            limits.check_tensor(
                f"{where}: with the largest sizes, a result", largest, tvm.DataType(dtype).itemsize
            )
        held = [const for const in nodes_of(value, GenericConst) if const not in constants]
        read = [var for var in nodes_of(value, tvm.ir.Var) if not isinstance(var, tvm.ir.GlobalVar)]
        is_constant = isinstance(value, Call) and isinstance(value.op, Op)
        if is_constant and constants.issuperset(read):
            held.append(binding.var)
        constants.update(held)
        held_bytes += [
            (prod(shape) * tvm.DataType(dtype).itemsize, f"at {where}")
            for new in held
            for shape, dtype in _tensors(new)
        ]
    if held_bytes:
        limits.check_constants(sum(size for size, _ in held_bytes), max(held_bytes)[1])


def _described(binding: relax.VarBinding) -> str:
    shapes = " and ".join(str(shape) for shape, _ in _tensors(binding.var))
    return f"operator {operator_title(binding.value)} (result of shape {shapes})"


def _tensors(expr: Any) -> list[tuple[list[int], str]]:
    """Shape and element type of each tensor that the expression stands for."""
    return [
        ([int(extent) for extent in ty.shape], str(ty.dtype))
        for ty in flatten_types(expr.ty)
        if isinstance(ty, relax.TensorType) and has_static_shape(ty)
    ]
