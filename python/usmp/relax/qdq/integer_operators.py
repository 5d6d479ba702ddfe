"""Replace operators between R.dequantize and R.quantize by integer operators.

    R.quantize(relu(conv2d(R.dequantize(x), R.dequantize(w)) + b))  ->  conv2d of x in integers

What is not recognised stays in float, correct but larger and slower; it is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, IRModule
from tvm.relax.expr_functor import PyExprMutator, mutator

from usmp.objects.attributes import FLOAT_OPERATORS_ATTR
from usmp.objects.errors import UnsupportedModelError
from usmp.relax.check_static_shapes import main_function
from usmp.relax.qdq.activation import without_activation
from usmp.relax.qdq.elementwise import match_elementwise
from usmp.relax.qdq.graph import Graph, Output, output_of
from usmp.relax.qdq.moves import (
    behind_moves,
    match_change_of_scale,
    match_concatenation,
    match_move,
    moved,
)
from usmp.relax.qdq.pooling import match_mean, match_pool
from usmp.relax.qdq.products import match_convolution, match_matrix_product
from usmp.relax.qdq.tables import match_table

Matcher = Callable[[Graph, relax.Expr, Output], "relax.Expr | None"]
_MATCHERS: tuple[Matcher, ...] = (
    match_convolution,
    match_matrix_product,
    match_elementwise,
    match_pool,
    match_mean,
    match_move,
    match_concatenation,
    match_change_of_scale,
)
_CHANGES_OF_TYPE = ("relax.quantize", "relax.dequantize")


def use_integer_operators(mod: IRModule) -> IRModule:
    """Replace what is recognised in the Relax `main`, and count what is not.

    Returns
    -------
    The module, with the attribute `float_operators` if some operators compute quantised tensors in
    float: name -> how many.
    """
    main = main_function(mod)
    if not _calls(main, *_CHANGES_OF_TYPE):
        return mod
    variable = mod.get_global_var("main")
    rewriter = _Rewriter(mod)
    rewritten = rewriter.visit_expr(main)
    mod = rewriter.builder_.get()
    mod.update_func(variable, rewritten)
    mod = relax.transform.DeadCodeElimination()(mod)
    remaining = _float_operators(mod["main"])
    if remaining:
        mod = mod.with_attr(FLOAT_OPERATORS_ATTR, dict(remaining))
    return mod


@mutator
class _Rewriter(PyExprMutator):  # type: ignore[misc]
    """Rewrites each R.quantize whose operator has an integer form."""

    def visit_call_(self, call: Call) -> relax.Expr:
        """The integer operator in the place of an R.quantize."""
        call = self.visit_expr_post_order(call)
        if getattr(call.op, "name", None) != "relax.quantize":
            return call
        graph = Graph(self.builder_, self.lookup_binding)
        output = output_of(graph, call)
        replaced = None if output is None else _match(graph, call.args[0], output)
        return call if replaced is None else replaced


def _match(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    """The integer operators for `expr`, whose R.quantize makes `output` of it."""
    inner, moves = behind_moves(graph, expr)
    replaced = _match_operator(graph, inner, output)
    if replaced is None and moves:
        # A move of integers that are there already.
        return _match_operator(graph, expr, output)
    return None if replaced is None else moved(graph, replaced, moves)


def _match_operator(graph: Graph, expr: relax.Expr, output: Output) -> relax.Expr | None:
    operator, clamped = without_activation(graph, expr, output)
    for matcher in _MATCHERS:
        try:
            replaced = matcher(graph, operator, clamped)
        except UnsupportedModelError:
            continue
        if replaced is not None:
            return replaced
    return match_table(graph, expr, output)


def _calls(main: relax.Function, *operators: str) -> list[Call]:
    found: list[Call] = []

    def on_call(call: Call) -> None:
        if getattr(call.op, "name", None) in operators:
            found.append(call)

    tvm_ffi.structural_walk(main.body, (Call, on_call))
    return found


def _float_operators(main: relax.Function) -> Counter[str]:
    """Operators on the results of an R.dequantize, and on theirs, up to the next R.quantize."""
    names: Counter[str] = Counter()
    float_values: set[tvm.ir.Var] = set()

    def on_binding(binding: relax.VarBinding) -> None:
        call = binding.value
        name = getattr(getattr(call, "op", None), "name", None)
        if not isinstance(call, Call) or name is None:
            return
        reads = any(
            isinstance(argument, tvm.ir.Var) and argument in float_values
            for argument in _arguments(call)
        )
        if name == "relax.dequantize" or (reads and name != "relax.quantize"):
            float_values.add(binding.var)
        if reads and name not in _CHANGES_OF_TYPE:
            names[name.removeprefix("relax.")] += 1

    tvm_ffi.structural_walk(main.body, (relax.VarBinding, on_binding))
    return names


def _arguments(call: Call) -> list[relax.Expr]:
    """The arguments of a call, those in tuples too."""
    return [
        leaf
        for argument in call.args
        for leaf in (argument.fields if isinstance(argument, relax.Tuple) else [argument])
    ]
