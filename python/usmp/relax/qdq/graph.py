"""What the matchers of quantised operators ask of a Relax function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relax
from tvm.ir import Call, GenericConst

from usmp.relax.quantised import OutputLimits, Quantisation

INTEGER_TYPES = ("int8", "uint8", "int16")


@dataclass(frozen=True)
class IntegerTensor:
    """A tensor of integers that stand for real numbers."""

    value: relax.Expr
    quantisation: Quantisation


@dataclass(frozen=True)
class IntegerConstant:
    """Constant integers that stand for real numbers; `quantisation.axis` is one of `values`."""

    values: np.ndarray
    quantisation: Quantisation

    def transposed(self, axes: list[int]) -> IntegerConstant:
        """The same with its axes in another order."""
        old = self.quantisation
        moved = Quantisation(old.dtype, old.scales, old.zero_points, axes.index(old.axis))
        return IntegerConstant(self.values.transpose(axes), moved)


@dataclass(frozen=True)
class Output:
    """What an operator writes: the quantisation, and the limits that an activation sets."""

    quantisation: Quantisation
    limits: OutputLimits


@dataclass(frozen=True)
class Graph:
    """The function that is being rewritten.

    Parameters
    ----------
    builder: where calls of integer operators are made.
    lookup: the expression that a variable is bound to, or None.
    """

    builder: relax.BlockBuilder
    lookup: Callable[[relax.Var], relax.Expr | None]

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

    def quantisation(self, call: Call, dtype: str, shape: list[int]) -> Quantisation | None:
        """Scales and zero points of an R.quantize or R.dequantize, if they are constants."""
        scales, zero_points = (self.constant(argument) for argument in call.args[1:3])
        if scales is None or zero_points is None or not np.all(scales > 0):
            return None
        scales, zero_points = scales.reshape(-1), zero_points.reshape(-1)
        if len(zero_points) != len(scales):
            zero_points = np.broadcast_to(zero_points, scales.shape)
        axis = int(call.attrs.axis) % max(len(shape), 1)
        return Quantisation(
            dtype, tuple(map(float, scales)), tuple(int(z) for z in zero_points), axis
        )

    def integers(self, expr: relax.Expr) -> IntegerTensor | None:
        """The integers that a float tensor comes from, one scale for all of them."""
        call = self.call(expr, "relax.dequantize")
        if call is None or self.constant(call.args[0]) is not None:
            return None
        dtype = str(call.args[0].ty.dtype)
        quantisation = self.quantisation(call, dtype, list(call.args[0].ty.shape))
        if quantisation is None or not quantisation.is_per_tensor or dtype not in INTEGER_TYPES:
            return None
        return IntegerTensor(call.args[0], quantisation)

    def integer_constant(self, expr: relax.Expr) -> IntegerConstant | None:
        """The constant integers that a float tensor comes from, transposed as it is."""
        transposed = self.call(expr, "relax.permute_dims")
        if transposed is not None:
            inner = self.integer_constant(transposed.args[0])
            axes = transposed.attrs.axes
            rank = len(transposed.ty.shape)
            order = [int(a) % rank for a in axes] if axes else list(range(rank))[::-1]
            return None if inner is None else inner.transposed(order)
        call = self.call(expr, "relax.dequantize")
        values = None if call is None else self.constant(call.args[0])
        if call is None or values is None:
            return None
        quantisation = self.quantisation(call, str(values.dtype), list(values.shape))
        return None if quantisation is None else IntegerConstant(values, quantisation)

    def real_constant(self, expr: relax.Expr) -> np.ndarray | None:
        """The real numbers of a constant, stored as floats or as integers: float64."""
        reshaped = self.call(expr, "relax.reshape")
        if reshaped is not None:
            inner = self.real_constant(reshaped.args[0])
            return None if inner is None else inner.reshape([int(e) for e in reshaped.ty.shape])
        values = self.constant(expr)
        if values is not None:
            return values.astype(np.float64)
        stored = self.integer_constant(expr)
        if stored is None:
            return None
        shape = [1] * stored.values.ndim
        if not stored.quantisation.is_per_tensor:
            shape[stored.quantisation.axis] = -1
        scales = np.array(stored.quantisation.scales).reshape(shape)
        zero_points = np.array(stored.quantisation.zero_points).reshape(shape)
        real: np.ndarray = (stored.values.astype(np.float64) - zero_points) * scales
        return real


def output_of(graph: Graph, quantize: Call) -> Output | None:
    """What an R.quantize makes of its input: None if the scales are not one constant."""
    dtype = str(quantize.attrs.out_dtype)
    if dtype not in INTEGER_TYPES:
        return None
    quantisation = graph.quantisation(quantize, dtype, list(quantize.args[0].ty.shape))
    if quantisation is None or not quantisation.is_per_tensor:
        return None
    return Output(quantisation, quantisation.limits())
