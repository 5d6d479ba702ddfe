"""What operators read: quantised tensors, and constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.ir import Call

from usmp.objects.errors import UnsupportedModelError
from usmp.relax.qdq.graph import INTEGER_TYPES, Graph
from usmp.relax.qdq.moves import Move, move_of
from usmp.relax.quantised import Quantisation
from usmp.relax.quantised.emit import shape_of
from usmp.relax.quantised.parameters import integer_limits, quantize_value


@dataclass(frozen=True)
class IntegerTensor:
    """A tensor of integers that stand for real numbers.

    Parameters
    ----------
    source: the integers.
    quantisation: one scale for all of them.
    moves: what happens to them before they are read, and the integers that new elements are.
    """

    source: relax.Expr
    quantisation: Quantisation
    moves: tuple[tuple[Move, int], ...] = ()

    def emit(self, builder: relax.BlockBuilder) -> relax.Expr:
        """The integers where they are read."""
        value = self.source
        for move, fill in self.moves:
            value = builder.emit(move.rebuild(value, fill))
        return value


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

    def real(self) -> np.ndarray:
        """The real numbers: float64."""
        shape = [1] * self.values.ndim
        if not self.quantisation.is_per_tensor:
            shape[self.quantisation.axis] = -1
        scales = np.array(self.quantisation.scales).reshape(shape)
        zero_points = np.array(self.quantisation.zero_points).reshape(shape)
        numbers: np.ndarray = (self.values.astype(np.float64) - zero_points) * scales
        return numbers


def integers(graph: Graph, expr: relax.Expr) -> IntegerTensor | None:
    """The computed integers that a float tensor comes from, one scale for all of them."""
    if 0 in shape_of(expr):
        return None
    moves: list[Move] = []
    while (move := move_of(graph, expr)) is not None:
        moves.append(move)
        expr = move.source
    call = graph.call(expr, "relax.dequantize")
    if call is None or graph.constant(call.args[0]) is not None:
        return None
    dtype = str(call.args[0].ty.dtype)
    if dtype not in INTEGER_TYPES or str(call.attrs.out_dtype) != "float32":
        return None
    quantisation = graph.quantisation(call, dtype)
    if quantisation is None or not quantisation.is_per_tensor:
        return None
    placed = []
    for move in reversed(moves):
        fill = 0 if move.fill is None else _exact_integer(move.fill, quantisation)
        if fill is None:
            return None
        placed.append((move, fill))
    return IntegerTensor(call.args[0], quantisation, tuple(placed))


def _exact_integer(real: float, quantisation: Quantisation) -> int | None:
    """The integer that stands for just this number."""
    try:
        value = quantize_value(real, quantisation)
    except UnsupportedModelError:
        return None
    least, greatest = integer_limits(quantisation.dtype)
    stands_for = np.float32(value - quantisation.zero_point) * np.float32(quantisation.scale)
    return value if least <= value <= greatest and stands_for == np.float32(real) else None


def integer_constant(graph: Graph, expr: relax.Expr) -> IntegerConstant | None:
    """The constant integers that a float tensor comes from, transposed as it is."""
    transposed = graph.call(expr, "relax.permute_dims")
    if transposed is not None:
        inner = integer_constant(graph, transposed.args[0])
        axes = transposed.attrs.axes
        rank = len(transposed.ty.shape)
        order = [int(a) % rank for a in axes] if axes else list(range(rank))[::-1]
        return None if inner is None else inner.transposed(order)
    call = graph.call(expr, "relax.dequantize")
    values = None if call is None else graph.constant(call.args[0])
    if call is None or values is None or str(call.attrs.out_dtype) != "float32":
        return None
    quantisation = graph.quantisation(call, str(values.dtype))
    return None if quantisation is None else IntegerConstant(values, quantisation)


def quantised_operands(
    graph: Graph, call: Call
) -> tuple[tuple[relax.Expr, Quantisation], tuple[relax.Expr, Quantisation]] | None:
    """Both operands of a call as integers of one scale, if they are."""
    left, right = (_quantised_operand(graph, argument) for argument in call.args)
    return None if left is None or right is None else (left, right)


def _quantised_operand(graph: Graph, expr: relax.Expr) -> tuple[relax.Expr, Quantisation] | None:
    """Integers of one scale, computed or constant."""
    data = integers(graph, expr)
    if data is not None:
        return data.emit(graph.builder), data.quantisation
    stored = integer_constant(graph, expr)
    if stored is None or not stored.quantisation.is_per_tensor:
        return None
    return relax.const(np.ascontiguousarray(stored.values)), stored.quantisation


def real_constant(graph: Graph, expr: relax.Expr) -> np.ndarray | None:
    """The real numbers of a constant, stored as floats or as integers: float64."""
    reshaped = graph.call(expr, "relax.reshape", "relax.expand_dims", "relax.squeeze")
    if reshaped is not None:
        inner = real_constant(graph, reshaped.args[0])
        return None if inner is None else inner.reshape([int(e) for e in reshaped.ty.shape])
    values = graph.constant(expr)
    if values is not None:
        return values.astype(np.float64)
    stored = integer_constant(graph, expr)
    return None if stored is None else stored.real()


def quantised(real: np.ndarray, after: Quantisation) -> np.ndarray:
    """What R.quantize makes of constants: halves are rounded to even, in single precision."""
    shape = [1] * real.ndim
    if not after.is_per_tensor:
        shape[after.axis] = -1
    scales = np.array(after.scales, np.float32).reshape(shape if real.ndim else ())
    zero_points = np.array(after.zero_points, np.float64).reshape(scales.shape)
    least, greatest = integer_limits(after.dtype)
    with np.errstate(over="ignore"):
        ratio = np.rint(real.astype(np.float32) / scales).astype(np.float64)
    stored: np.ndarray = np.clip(ratio + zero_points, least, greatest).astype(after.dtype)
    return stored
