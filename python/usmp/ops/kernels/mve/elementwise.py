"""Kernels of element-wise operators of one or two int8 tensors for cores with MVE."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.only_block import only_block
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.elements.element_runs import Compute, ElementRuns
from usmp.ops.kernels.elements.extremes import Extremes, extremes_of
from usmp.ops.kernels.kernel import Kernel
from usmp.ops.kernels.loops.line import Line, element_wise
from usmp.ops.kernels.mve.addition import add_elements, addition_of
from usmp.ops.kernels.mve.multiplication import multiplication_of, multiply_elements
from usmp.ops.kernels.mve.single import functions_of
from usmp.tir.nodes import nodes_of

_LEAST_ELEMENTS = 16
"""The least number of elements for which vectors save more than a call costs."""


def mve_elementwise_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of an element-wise operator; None for unsupported operators."""
    block = only_block(call.func) if core.has_mve else None
    computation = None if block is None else _computation_of(block.body.value, core)
    if block is None or computation is None:
        return None
    runs = ElementRuns(block, *computation, "tvmgen_mve_fill")
    return runs.kernel(call, Schedule("vectors"), _LEAST_ELEMENTS)


def _computation_of(value: tirx.Expr, core: Core) -> tuple[tuple[TensorLoad, ...], Compute] | None:
    """Return the loads that a value is computed from, and its computation over runs; None if
    vectors cannot compute it."""
    inner, functions = functions_of(value, core)
    if functions is not None:
        return ((inner,), functions) if isinstance(inner, TensorLoad) else None
    extremes = extremes_of(value)
    if extremes is not None:
        return extremes.terms, lambda *run: _extremes(extremes, *run)
    if len(nodes_of(value, TensorLoad)) != 2:
        return None
    addition, product = addition_of(value, core), multiplication_of(value, core)
    if addition is not None:
        first, second = addition.first.element, addition.second.element
        if not isinstance(first, TensorLoad) or not isinstance(second, TensorLoad):
            return None
        return (first, second), lambda lines, *run: add_elements(addition, *lines, *run)
    if product is None:
        return None
    terms = product.first, product.second
    return terms, lambda lines, *run: multiply_elements(product, *lines, *run)


def _extremes(extremes: Extremes, lines: Sequence[Line], output: Line, count: int) -> tirx.Stmt:
    function = "tvmgen_mve_minimum" if extremes.is_least else "tvmgen_mve_maximum"
    return element_wise(function, lines, output, count, (), extremes.chosen)
