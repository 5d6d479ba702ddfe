"""A main function in which chains of operators are computed in strips."""

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
    """The module of `main` with some chains in strips, of which no two have an operator in common.

    In place of the last operator of a chain stand all strips, one after the other. Each computes
    the operators of the chain for its columns and writes what comes out into the whole result.
    """
    by_last = {main.variables[chain.stop - 1]: chain for chain in chains}
    return rewrite_main(main.mod, lambda mod: _Rewriter(mod, main, by_last))


@mutator
class _Rewriter(PyExprMutator):  # type: ignore[misc]
    """Computes chains in strips; what only they needed is left unused."""

    def __init__(
        self, mod: IRModule, main: StripMain, by_last: Mapping[tvm.ir.Var, StripChain]
    ) -> None:
        super().__init__(mod)
        self.main = main
        self.by_last = by_last
        self.sources = bound_spans(main_function(mod))

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        """All strips in place of the last operator of a chain."""
        chain = self.by_last.get(binding.var)
        if chain is None:
            super().visit_var_binding_(binding)
            return
        whole = None
        for ranges in chain.strips:
            whole = self._strip(chain, ranges, whole)
        if isinstance(whole, DataflowVar) and not isinstance(binding.var, DataflowVar):
            # Other blocks read it, too.
            whole = self.builder_.emit_output(whole)
        self.set_var_remap(binding.var, whole)

    def _strip(
        self, chain: StripChain, ranges: Mapping[tvm.ir.Var, Interval], whole: relax.Expr | None
    ) -> relax.Expr:
        """One strip; `whole` is what those before have written."""
        slices: dict[tvm.ir.Var, ColumnSlice] = {}
        for index in range(chain.start, chain.stop):
            operator, var = self.main.operators[index], self.main.variables[index]
            assert operator is not None
            for operand, _ in operator.columns:
                slices.setdefault(operand, ColumnSlice(self.visit_expr(operand), 0))
            made = operator.emit(self.builder_, slices, ranges[var])
            made = with_span(made, self.sources.get(var))
            slices[var] = ColumnSlice(self.builder_.emit(made), ranges[var][0])
        output = self.main.variables[chain.stop - 1]
        strip = slices[output]
        made = with_columns(self.builder_, whole, strip.expr, output.ty, strip.first)
        return self.builder_.emit(with_span(made, self.sources.get(output)))
