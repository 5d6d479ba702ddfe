"""Operands of operators: quantized tensors, and constants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from tvm import relax
from tvm.ir import Call

from usmp.ops.emit import shape_of
from usmp.ops.quantized import Quantization
from usmp.ops.quantized.rescaling.parameters import integer_limits, quantize_value
from usmp.ops.views import RESHAPES, order_of
from usmp.relax.transform.qdq.data_movement import Move, move_of
from usmp.relax.transform.qdq.graph import INTEGER_TYPES, Graph
from usmp.support.errors import UnsupportedModelError


@dataclass(frozen=True)
class IntegerTensor:
    """A computed tensor of quantized integers.

    Parameters
    ----------
    source
        the integers before the moves.
    quantization
        their per-tensor quantization.
    moves
        (move, integer fill value) of each operator between the source and the reader, in order.
    """

    source: relax.Expr
    quantization: Quantization
    moves: tuple[tuple[Move, int], ...] = ()

    def emit(self, graph: Graph) -> relax.Expr:
        """Emit the moves, and return the integers that the operator reads."""
        value = self.source
        for move, fill in self.moves:
            value = graph.emit(move.result, move.rebuild(value, fill))
        return value

    @property
    def order(self) -> tuple[int, ...] | None:
        """The order of axes after the last move, if this is a transposition."""
        return self.moves[-1][0].order if self.moves else None

    def without_last_move(self) -> IntegerTensor:
        """Return the integers before the last move."""
        return replace(self, moves=self.moves[:-1])


@dataclass(frozen=True)
class IntegerConstant:
    """A constant tensor of quantized integers; `quantization.axis` is an axis of `values`."""

    values: np.ndarray
    quantization: Quantization

    def transposed(self, axes: list[int]) -> IntegerConstant:
        """Return the constant with permuted axes."""
        old = self.quantization
        moved = Quantization(old.dtype, old.scales, old.zero_points, axes.index(old.axis))
        return IntegerConstant(self.values.transpose(axes), moved)

    def real(self) -> np.ndarray:
        """Return the real numbers, as float64."""
        shape = [1] * self.values.ndim
        if not self.quantization.is_per_tensor:
            shape[self.quantization.axis] = -1
        scales = np.array(self.quantization.scales).reshape(shape)
        zero_points = np.array(self.quantization.zero_points).reshape(shape)
        numbers: np.ndarray = (self.values.astype(np.float64) - zero_points) * scales
        return numbers


def integers(graph: Graph, expr: relax.Expr) -> IntegerTensor | None:
    """Return the computed integers that a float tensor is dequantized from, and the moves after
    that. Return None for several scales, or a fill value that no integer represents exactly."""
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
    quantization = graph.quantization(call, dtype)
    if quantization is None or not quantization.is_per_tensor:
        return None
    placed = []
    for move in reversed(moves):
        fill = 0 if move.fill is None else _exact_integer(move.fill, quantization)
        if fill is None:
            return None
        placed.append((move, fill))
    return IntegerTensor(call.args[0], quantization, tuple(placed))


def _exact_integer(real: float, quantization: Quantization) -> int | None:
    """Return the integer that represents exactly this number, or None."""
    try:
        value = quantize_value(real, quantization)
    except UnsupportedModelError:
        return None
    least, greatest = integer_limits(quantization.dtype)
    represented = np.float32(value - quantization.zero_point) * np.float32(quantization.scale)
    return value if least <= value <= greatest and represented == np.float32(real) else None


def integer_constant(graph: Graph, expr: relax.Expr) -> IntegerConstant | None:
    """Return the constant integers that a float tensor is dequantized from, with the tensor's shape
    and order of axes, or None."""
    transposed = graph.call(expr, "relax.permute_dims")
    if transposed is not None:
        inner = integer_constant(graph, transposed.args[0])
        return None if inner is None else inner.transposed(list(order_of(transposed)))
    reshaped = graph.call(expr, *RESHAPES)
    if reshaped is not None:
        inner = integer_constant(graph, reshaped.args[0])
        if inner is None or not inner.quantization.is_per_tensor:
            return None
        return IntegerConstant(inner.values.reshape(shape_of(reshaped)), inner.quantization)
    call = graph.call(expr, "relax.dequantize")
    values = None if call is None else graph.constant(call.args[0])
    if call is None or values is None or str(call.attrs.out_dtype) != "float32":
        return None
    quantization = graph.quantization(call, str(values.dtype))
    return None if quantization is None else IntegerConstant(values, quantization)


Operand: TypeAlias = "tuple[relax.Expr, Quantization]"
"""Integers, and their per-tensor quantization."""


def quantized_operands(graph: Graph, call: Call) -> tuple[Operand, Operand] | None:
    """Return both operands of a call as integers of one scale each, or None."""
    left, right = (_quantized_operand(graph, argument) for argument in call.args)
    return None if left is None or right is None else (left, right)


def _quantized_operand(graph: Graph, expr: relax.Expr) -> Operand | None:
    """Return an operand as integers of one scale, computed or constant."""
    data = integers(graph, expr)
    if data is not None:
        return data.emit(graph), data.quantization
    stored = integer_constant(graph, expr)
    if stored is None or not stored.quantization.is_per_tensor:
        return None
    return relax.const(np.ascontiguousarray(stored.values)), stored.quantization


def real_constant(graph: Graph, expr: relax.Expr) -> np.ndarray | None:
    """Return the real numbers of a constant, stored as floats or as integers, in float64."""
    reshaped = graph.call(expr, *RESHAPES)
    if reshaped is not None:
        inner = real_constant(graph, reshaped.args[0])
        return None if inner is None else inner.reshape(shape_of(reshaped))
    transposed = graph.call(expr, "relax.permute_dims")
    if transposed is not None:
        inner = real_constant(graph, transposed.args[0])
        return None if inner is None else inner.transpose(order_of(transposed))
    values = graph.constant(expr)
    if values is not None:
        return values.astype(np.float64)
    stored = integer_constant(graph, expr)
    return None if stored is None else stored.real()


def quantized(real: np.ndarray, after: Quantization) -> np.ndarray:
    """Quantize constants as R.quantize does: in single precision, halves to even."""
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
