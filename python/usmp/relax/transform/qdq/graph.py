"""The view of a Relax function that matchers of quantized operators use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import tvm
from tvm import relax
from tvm.ir import Call, GenericConst

from usmp.ops.emit import shape_of
from usmp.ops.quantized import OutputLimits, Quantization, Rounding
from usmp.tir.op_names import op_name

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
    """

    builder: relax.BlockBuilder
    lookup: Callable[[relax.Var], relax.Expr | None]
    matcher: Matcher
    known: dict[tuple[relax.Var, Output], relax.Expr] = field(default_factory=dict)

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
        integers = self.builder.emit(integers)
        if key is not None:
            self.known[key] = integers
        return integers

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
