"""What the matchers of quantized operators ask of a Relax function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import tvm
from tvm import relax
from tvm.ir import Call, GenericConst

from usmp.ops.emit import shape_of
from usmp.ops.quantized import OutputLimits, Quantization, Rounding

INTEGER_TYPES = ("int8", "uint8", "int16")


@dataclass(frozen=True)
class Output:
    """What an operator writes: the quantization, and the limits that an activation sets."""

    quantization: Quantization
    limits: OutputLimits

    @property
    def rounding(self) -> Rounding:
        """How operators round what they write: once, as the runtimes of quantized graphs do."""
        is_wide = self.quantization.dtype == "int16"
        return Rounding.TWICE if is_wide else Rounding.AS_FLOAT


Matcher = Callable[["Graph", relax.Expr, Output], "relax.Expr | None"]
"""From a float expression and what its R.quantize makes of it to the same integers, or None."""


@dataclass(frozen=True)
class Graph:
    """The function that is being rewritten.

    Parameters
    ----------
    builder
        where calls of integer operators are made.
    lookup
        the expression that a variable is bound to, or None.
    matcher
        what finds the integers of any expression.
    known
        integers that were found in the block that is being rewritten.
    """

    builder: relax.BlockBuilder
    lookup: Callable[[relax.Var], relax.Expr | None]
    matcher: Matcher
    known: dict[tuple[relax.Var, Output], relax.Expr] = field(default_factory=dict)

    def match(self, expr: relax.Expr, output: Output) -> relax.Expr | None:
        """The integers that an R.quantize to `output` makes of a float `expr`; None if no integer
        operators are known that compute them, or there are no elements."""
        if 0 in shape_of(expr):
            return None
        key = (expr, output) if isinstance(expr, tvm.ir.Var) else None
        if key in self.known:
            return self.known[key]
        found = self.matcher(self, expr, output)
        if found is None:
            return None
        found = self.builder.emit(found)
        if key is not None:
            self.known[key] = found
        return found

    def resolve(self, expr: relax.Expr) -> relax.Expr:
        """The expression behind variables, and behind elements of tuples."""
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
        """The call of one of the operators ("relax.add") that `expr` is the result of."""
        resolved = self.resolve(expr)
        if isinstance(resolved, Call) and getattr(resolved.op, "name", None) in operators:
            return resolved
        return None

    def constant(self, expr: relax.Expr) -> np.ndarray | None:
        """The values of a constant."""
        resolved = self.resolve(expr)
        if isinstance(resolved, GenericConst) and isinstance(resolved.ty, relax.TensorType):
            values: np.ndarray = resolved.value.numpy()
            return values
        return None

    def quantization(self, call: Call, dtype: str) -> Quantization | None:
        """Scales and zero points of an R.quantize or R.dequantize, if they are constants and stand
        for real numbers."""
        parameters = [self.constant(argument) for argument in call.args[1:3]]
        if any(p is None or not p.size for p in parameters):
            return None
        flat = [parameter.reshape(-1) for parameter in parameters if parameter is not None]
        scales, zero_points = np.broadcast_arrays(*flat)
        if not np.all((scales > 0) & np.isfinite(scales)):
            return None
        rank = len(call.args[0].ty.shape)
        # Meaningless for one scale, by which quantizations must not differ.
        axis = int(call.attrs.axis) % rank if len(scales) > 1 else 0
        return Quantization(
            dtype, tuple(map(float, scales)), tuple(int(z) for z in zero_points), axis
        )

    def output_of(self, quantize: Call) -> Output | None:
        """What an R.quantize makes of its input: None if the scales are not one constant."""
        dtype = str(quantize.attrs.out_dtype)
        quantization = self.quantization(quantize, dtype) if dtype in INTEGER_TYPES else None
        if quantization is None or not quantization.is_per_tensor:
            return None
        return Output(quantization, quantization.limits())
