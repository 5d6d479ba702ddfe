"""Kernels of sums and products of two int8 tensors for cores with MVE, where they stand alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeAlias

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.cores import Core
from usmp.objects.schedule import Schedule
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops import loop
from usmp.ops.kernels.mve.addition import add_elements, addition_of
from usmp.ops.kernels.mve.multiplication import multiplication_of, multiply_elements
from usmp.ops.kernels.mve.products import Line
from usmp.ops.kernels.only_block import only_block
from usmp.ops.kernels.operator_call import OperatorCall
from usmp.ops.kernels.operator_parts import are_all, substituted
from usmp.tir.nodes import nodes_of

_LEAST_ELEMENTS = 16
"""Of a call: below, it costs more than vectors save."""

_Compute: TypeAlias = Callable[[Line, Line, Line, int], tirx.Stmt]
"""Stores as many elements from two lines into a third."""


def mve_elementwise_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Four elements at a time; one tensor may be repeated along the outer axes."""
    block = only_block(call.func) if core.has_mve else None
    if block is None:
        return None
    axes = tuple(iter_var.var for iter_var in block.iter_vars)
    found = _computation_of(block.body.value)
    if found is None or not are_all(block.body.indices, axes):
        return None
    terms, compute = found
    loops = _Loops(axes, block.body.buffer, terms, compute)
    if loops.elements < _LEAST_ELEMENTS:
        return None
    return kernel(call, [TiledBody(loops.stmt(), Schedule("4 elements, vectors"))], {})


def _computation_of(
    value: tirx.Expr,
) -> tuple[tuple[TensorLoad, TensorLoad], _Compute] | None:
    """The elements that are added or multiplied, and what does that for many of them."""
    if len(nodes_of(value, TensorLoad)) != 2:
        return None
    addition = addition_of(value)
    if addition is not None:
        terms = addition.first.element, addition.second.element
        compute: _Compute = partial(add_elements, addition)
    else:
        product = multiplication_of(value)
        if product is None:
            return None
        terms = product.first, product.second
        compute = partial(multiply_elements, product)
    first, second = terms
    if isinstance(first, TensorLoad) and isinstance(second, TensorLoad):
        return (first, second), compute
    return None


@dataclass(frozen=True)
class _Loops:
    """Loops over the outer axes of an output, and calls for what follows each other in it."""

    axes: tuple[tirx.Var, ...]
    output: tirx.Var
    terms: tuple[TensorLoad, TensorLoad]
    compute: _Compute

    @property
    def _first(self) -> int:
        """The outermost axis from which on both terms follow each other as the output does."""
        return max(self._first_of(term) for term in self.terms)

    @property
    def elements(self) -> int:
        """How many elements of the output follow each other."""
        return prod(int(extent) for extent in self.output.shape[self._first :])

    def _first_of(self, term: TensorLoad) -> int:
        first = len(self.axes)
        for back in range(1, min(len(self.axes), len(term.indices)) + 1):
            is_axis = term.indices[-back].same_as(self.axes[-back])
            if not is_axis or int(term.source.shape[-back]) != int(self.output.shape[-back]):
                break
            first = len(self.axes) - back
        outer = term.indices[: len(term.indices) - (len(self.axes) - first)]
        used = {var for index in outer for var in nodes_of(index, tirx.Var)}
        return len(self.axes) if used & set(self.axes[first:]) else first

    def stmt(self, outer: tuple[tirx.Expr, ...] = ()) -> tirx.Stmt:
        """What computes all elements at some indices of the outer axes."""
        axis = len(outer)
        if axis < self._first:
            var, extent = self.axes[axis], int(self.output.shape[axis])
            return loop(var.name, extent, lambda i: self.stmt((*outer, i)), str(var.ty.dtype))
        zeros = (tirx.IntImm(str(var.ty.dtype), 0) for var in self.axes[axis:])
        known = dict(zip(self.axes, (*outer, *zeros), strict=True))

        def line(buffer: tirx.Var, indices: list[tirx.Expr]) -> Line:
            return Line(buffer, tuple(substituted(index, known) for index in indices), 1)

        first, second = (line(term.source, list(term.indices)) for term in self.terms)
        return self.compute(first, second, line(self.output, list(self.axes)), self.elements)
