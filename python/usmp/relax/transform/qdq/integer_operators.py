"""Integer operators in place of operators between R.dequantize and R.quantize.

    R.quantize(relu(conv2d(R.dequantize(x), R.dequantize(w)) + b))  ->  conv2d of x in integers

Other operators stay in float, correct but larger and slower, and are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from tvm import relax
from tvm.ir import Call, IRModule
from tvm.relax.expr_functor import PyExprMutator, mutator

from usmp.objects.attributes.module_attributes import FLOAT_OPERATORS_ATTR
from usmp.relax.replace_main import rewrite_main
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.qdq import operands
from usmp.relax.transform.qdq.commuting import COMMUTING
from usmp.relax.transform.qdq.convolution import match_convolution
from usmp.relax.transform.qdq.elementwise import match_elementwise
from usmp.relax.transform.qdq.float_operators import float_operators
from usmp.relax.transform.qdq.graph import INTEGER_TYPES, Graph, Matcher, Output
from usmp.relax.transform.qdq.products import match_batch_product, match_matrix_product
from usmp.relax.transform.qdq.reductions import match_average_pool, match_reduction
from usmp.relax.transform.qdq.signed_integers import use_signed_integers
from usmp.relax.transform.qdq.softmax import match_softmax
from usmp.relax.transform.qdq.tables import match_table
from usmp.support.errors import UnsupportedModelError
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name
from usmp.tir.spans import bound_spans, function_with_spans, joined_or, keeps_span

_MATCHERS: tuple[Matcher, ...] = (
    *COMMUTING,
    match_convolution,
    match_matrix_product,
    match_batch_product,
    match_elementwise,
    match_average_pool,
    match_reduction,
    match_softmax,
    match_table,
)
_ARG_EXTREMES = ("relax.argmax", "relax.argmin")


def use_integer_operators(mod: IRModule) -> IRModule:
    """Replace matched operators in the Relax `main`, and count those that remain in float.

    Results are those of ONNX Runtime's integer operators, which round once (RFC 0026). They differ
    from those of float operators by one step, where float sums round to the other side of a half.
    Sums, differences and softmax are computed as in TFLite, and differ by at most one step.
    Operators that move, select or clamp numbers at one scale give equal integers.

    Returns
    -------
    IRModule
        The module, with the attribute `float_operators` (name -> count) if some operators compute
        in float. A module without R.quantize and R.dequantize is returned as it is.
    """
    main = main_function(mod)
    if not is_quantized(main):
        return mod
    mod = rewrite_main(use_signed_integers(mod), _Rewriter)
    remaining = float_operators(mod["main"])
    if remaining:
        mod = FLOAT_OPERATORS_ATTR.put(mod, dict(remaining))
    return mod


def is_quantized(main: relax.Function) -> bool:
    """Return whether a function has R.quantize or R.dequantize."""
    names = {op_name(call) for call in nodes_of(main.body, Call)}
    return not names.isdisjoint(("relax.quantize", "relax.dequantize"))


@mutator
class _Rewriter(PyExprMutator):  # type: ignore[misc]
    """A mutator that replaces each R.quantize whose input integer operators can compute, and lets
    R.argmax and R.argmin read integers."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.graph = Graph(self.builder_, self.lookup_binding, _match)

    def visit_function_(self, function: relax.Function) -> relax.Function:
        """Rewrite a function, and give its integers the spans of the operators they compute."""
        rewritten = super().visit_function_(function)
        own = bound_spans(rewritten)
        spans = {v: joined_or(s, *filter(None, [own.get(v)])) for v, s in self.graph.spans.items()}
        return function_with_spans(rewritten, spans)

    def visit_binding_block_(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Rewrite a block; its matched integers are visible only inside."""
        return self._visit(super().visit_binding_block_, block)

    def visit_dataflow_block_(self, block: relax.DataflowBlock) -> relax.BindingBlock:
        """Rewrite a dataflow block; its matched integers are visible only inside."""
        return self._visit(super().visit_dataflow_block_, block)

    @keeps_span
    def visit_call_(self, call: Call) -> relax.Expr:
        """Replace an R.quantize by an integer operator, or the operand of R.argmax or R.argmin."""
        call = self.visit_expr_post_order(call)
        name = op_name(call)
        if name in _ARG_EXTREMES:
            return _of_integers(self.graph, call)
        if name != "relax.quantize":
            return call
        try:
            integers = _quantized(self.graph, call)
        except RecursionError:
            # Hundreds of float operators in a row; they stay in float.
            integers = None
        if integers is None:
            return call
        self.graph.end(integers, call)
        return integers

    def _visit(
        self, visit: Callable[[relax.BindingBlock], relax.BindingBlock], block: relax.BindingBlock
    ) -> relax.BindingBlock:
        outer, self.graph = self.graph, replace(self.graph, known={})
        visited = visit(block)
        self.graph = outer
        return visited


def _match(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """Return the integers of the first matcher that succeeds."""
    for matcher in _MATCHERS:
        try:
            integers = matcher(graph, expr, output)
        except UnsupportedModelError:
            continue
        if integers is not None:
            return integers
    return None


def _quantized(graph: Graph, quantize: Call) -> relax.Expr | None:
    """Return the integers of an R.quantize, also of constants at several scales."""
    output = graph.output_of(quantize)
    if output is not None:
        return graph.match(quantize.args[0], output)
    real = graph.constant(quantize.args[0])
    dtype = str(quantize.attrs.out_dtype)
    after = graph.quantization(quantize, dtype) if dtype in INTEGER_TYPES else None
    if real is None or after is None or np.isnan(real).any():
        return None
    return relax.const(operands.quantized(real, after))


def _of_integers(graph: Graph, call: Call) -> relax.Expr:
    """Return the R.argmax or R.argmin of the integers that its operand is dequantized from, because
    they have the order of the real numbers. Return `call` if there are none."""
    data = operands.integers(graph, call.args[0])
    if data is None:
        return call
    return Call(call.op, [data.emit(graph), *call.args[1:]], call.attrs, call.ty_args)
