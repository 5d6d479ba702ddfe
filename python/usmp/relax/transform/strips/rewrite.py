"""The rewrite of a main function that computes chains of operators in strips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import DataflowVar
from tvm.relax.expr_functor import PyExprMutator, mutator

from usmp.ops.form import Interval
from usmp.ops.write_columns import with_columns
from usmp.relax.replace_main import rewrite_main
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.strips.strip_chain import StripChain, StripMain
from usmp.relax.transform.strips.strip_operator import ColumnSlice
from usmp.tir.spans import bound_spans, with_span


def with_strips(main: StripMain, chains: Sequence[StripChain]) -> IRModule:
    """Rewrite disjoint chains of `main` into strips.

    All strips replace the last operator of a chain, one after the other. Each strip computes the
    operators of the chain for its columns, and writes its columns of the result.
    """
    by_last = {main.variables[chain.stop - 1]: chain for chain in chains}
    return rewrite_main(main.mod, lambda mod: _Rewriter(mod, main, by_last))


@mutator
class _Rewriter(PyExprMutator):  # type: ignore[misc]
    """A mutator that computes chains in strips; it leaves dead code."""

    def __init__(
        self, mod: IRModule, main: StripMain, by_last: Mapping[tvm.ir.Var, StripChain]
    ) -> None:
        super().__init__(mod)
        self.main = main
        self.by_last = by_last
        self.sources = bound_spans(main_function(mod))

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        """Replace the last operator of a chain by all strips."""
        chain = self.by_last.get(binding.var)
        if chain is None:
            super().visit_var_binding_(binding)
            return
        whole = None
        for ranges in chain.strips:
            whole = self._strip(chain, ranges, whole)
        if isinstance(whole, DataflowVar) and not isinstance(binding.var, DataflowVar):
            # Other blocks may read the result, too.
            whole = self.builder_.emit_output(whole)
        self.set_var_remap(binding.var, whole)

    def _strip(
        self, chain: StripChain, ranges: Mapping[tvm.ir.Var, Interval], whole: relax.Expr | None
    ) -> relax.Expr:
        """Emit one strip; `whole` is the result with the columns of previous strips."""
        slices: dict[tvm.ir.Var, ColumnSlice] = {}
        for index in range(chain.start, chain.stop):
            operator, var = self.main.operators[index], self.main.variables[index]
            assert operator is not None
            for operand, _ in operator.columns:
                slices.setdefault(operand, ColumnSlice(self.visit_expr(operand), 0))
            result = operator.emit(self.builder_, slices, ranges[var])
            result = with_span(result, self.sources.get(var))
            slices[var] = ColumnSlice(self.builder_.emit(result), ranges[var][0])
        output = self.main.variables[chain.stop - 1]
        strip = slices[output]
        result = with_columns(self.builder_, whole, strip.expr, output.ty, strip.first)
        return self.builder_.emit(with_span(result, self.sources.get(output)))
