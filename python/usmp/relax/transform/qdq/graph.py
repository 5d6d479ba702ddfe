"""The view of a Relax function that matchers of quantized operators use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import tvm
from tvm import relax
from tvm.ir import Call, GenericConst

from usmp.ops.emit import shape_of
from usmp.ops.quantized import OutputLimits, Quantization, Rounding
from usmp.ops.views import RESHAPES
from usmp.tir.model_operator import is_of_model, joined_span
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name
from usmp.tir.spans import AnySpan

INTEGER_TYPES = ("int8", "uint8", "int16")


@dataclass(frozen=True)
class Output:
    """The output of an operator: its quantization, and the limits of a fused activation."""

    quantization: Quantization
    limits: OutputLimits

    @property
    def rounding(self) -> Rounding:
        """Rounding of operators: once, as runtimes of quantized graphs do; twice for int16."""
        is_wide = self.quantization.dtype == "int16"
        return Rounding.TWICE if is_wide else Rounding.AS_FLOAT


Matcher = Callable[["Graph", relax.Expr, Output], "relax.Expr | None"]
"""Returns the integers that R.quantize to an `Output` makes of a float expression, or None."""


@dataclass(frozen=True)
class Graph:
    """The function that is being rewritten.

    Parameters
    ----------
    builder
        emits calls of integer operators.
    lookup
        returns the expression that a variable is bound to, or None.
    matcher
        function that tries all matchers of operators on an expression.
    known
        (float variable, output) -> its integers, of those matched in the current block.
    spans
        integers -> the span of the operators of the model that their call computes.
    computed
        float tensors whose operators are in `spans`.
    folded
        spans of further operators that the next emitted integers compute.
    """

    builder: relax.BlockBuilder
    lookup: Callable[[relax.Var], relax.Expr | None]
    matcher: Matcher
    known: dict[tuple[relax.Var, Output], relax.Expr] = field(default_factory=dict)
    spans: dict[relax.Var, AnySpan] = field(default_factory=dict)
    computed: set[relax.Expr] = field(default_factory=set)
    folded: list[AnySpan | None] = field(default_factory=list)

    def match(self, expr: relax.Expr, output: Output) -> relax.Expr | None:
        """Return the integers that R.quantize to `output` makes of a float `expr`, or None if no
        integer operators compute them or `expr` is empty."""
        if 0 in shape_of(expr):
            return None
        key = (expr, output) if isinstance(expr, tvm.ir.Var) else None
        if key in self.known:
            return self.known[key]
        integers = self.matcher(self, expr, output)
        if integers is None:
            return None
        integers = self.emit(expr, integers)
        if key is not None:
            self.known[key] = integers
        return integers

    def emit(self, real: relax.Expr, integers: relax.Expr) -> relax.Var:
        """Emit the integers of a float tensor; their span has the operators that compute `real`."""
        variable = self.builder.emit(integers)
        source = self.call(real, "relax.dequantize")
        is_source = source is not None and integers.same_as(source.args[0])
        # No call has the span of constants or of given integers, so their readers have it.
        if not is_source and not isinstance(integers, GenericConst):
            call = variable if isinstance(integers, Call) else self._computing(variable)
            self._add_spans(call, [*self._spans_behind(real), *self.folded])
            self.folded.clear()
            self.computed.add(real)
        return variable

    def end(self, integers: relax.Expr, quantize: Call) -> None:
        """Add the span of an R.quantize to the integers that replace it."""
        if isinstance(integers, tvm.ir.Var):
            real = quantize.args[0]
            behind = () if real in self.computed else self._spans_behind(real)
            self._add_spans(self._computing(integers), [quantize.span, *behind])

    def _add_spans(self, integers: relax.Var, spans: Iterable[AnySpan | None]) -> None:
        joined = joined_span([self.spans.get(integers), *filter(is_of_model, spans)])
        if joined is not None:
            self.spans[integers] = joined

    def span_of(self, integers: relax.Var) -> AnySpan | None:
        """Return the span that the call that computes integers has, if any."""
        return self.spans.get(self._computing(integers))

    def _computing(self, integers: relax.Var) -> relax.Var:
        """Return the first name of integers, and before a reshape that is no operator of the model:
        so the reshape has the span of its reader."""
        bound = self.lookup(integers)
        if isinstance(bound, tvm.ir.Var):
            return self._computing(bound)
        if bound is None or integers in self.spans or op_name(bound) not in RESHAPES:
            return integers
        source = bound.args[0]
        is_computed = isinstance(source, tvm.ir.Var) and self.lookup(source) is not None
        return self._computing(source) if is_computed and not is_of_model(bound.span) else integers

    def _spans_behind(self, real: relax.Expr) -> Iterator[AnySpan | None]:
        """Yield the spans of the calls that compute a float tensor, back to R.dequantize or to
        other tensors in `computed`."""
        pending, seen = [real], set[relax.Expr]()
        while pending:
            expr = pending.pop()
            if expr in seen:
                continue
            seen.add(expr)
            bound = self.lookup(expr) if isinstance(expr, tvm.ir.Var) else expr
            is_border = op_name(bound) == "relax.dequantize"
            if is_border or expr.same_as(real) or expr not in self.computed:
                yield getattr(bound, "span", None)
                pending += [] if is_border or bound is None else nodes_of(bound, tvm.ir.Var)

    def resolve(self, expr: relax.Expr) -> relax.Expr:
        """Return the expression that a variable or an element of a tuple is bound to, through other
        variables; return other expressions as they are."""
        while True:
            if isinstance(expr, tvm.ir.Var):
                bound = self.lookup(expr)
            elif isinstance(expr, relax.TupleGetItem):
                whole = self.resolve(expr.tuple_value)
                bound = whole.fields[expr.index] if isinstance(whole, relax.Tuple) else None
            else:
                return expr
            if bound is None:
                return expr
            expr = bound

    def call(self, expr: relax.Expr, *operators: str) -> Call | None:
        """Return the call that computes `expr`, if it is of one of these operators
        ("relax.add")."""
        resolved = self.resolve(expr)
        if op_name(resolved) in operators:
            return resolved
        return None

    def constant(self, expr: relax.Expr) -> np.ndarray | None:
        """Return the values of a constant, or None."""
        resolved = self.resolve(expr)
        if isinstance(resolved, GenericConst) and isinstance(resolved.ty, relax.TensorType):
            values: np.ndarray = resolved.value.numpy()
            return values
        return None

    def quantization(self, call: Call, dtype: str) -> Quantization | None:
        """Return the quantization of an R.quantize or R.dequantize, if it is constant and its
        scales are positive and finite."""
        parameters = [self.constant(argument) for argument in call.args[1:3]]
        if any(p is None or not p.size for p in parameters):
            return None
        flat = [parameter.reshape(-1) for parameter in parameters if parameter is not None]
        scales, zero_points = np.broadcast_arrays(*flat)
        if not np.all((scales > 0) & np.isfinite(scales)):
            return None
        rank = len(call.args[0].ty.shape)
        # The axis is meaningless for one scale: make it 0, so that equal quantizations compare
        # equal.
        axis = int(call.attrs.axis) % rank if len(scales) > 1 else 0
        return Quantization(
            dtype, tuple(map(float, scales)), tuple(int(z) for z in zero_points), axis
        )

    def output_of(self, quantize: Call) -> Output | None:
        """Return the output of an R.quantize, or None if it has several scales, scales that are not
        constant, or a type not in `INTEGER_TYPES`."""
        dtype = str(quantize.attrs.out_dtype)
        quantization = self.quantization(quantize, dtype) if dtype in INTEGER_TYPES else None
        if quantization is None or not quantization.is_per_tensor:
            return None
        return Output(quantization, quantization.limits())
