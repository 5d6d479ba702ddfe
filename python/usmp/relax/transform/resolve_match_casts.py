"""ResolveMatchCasts: casts to a shape that is already known are removed."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.relax.expr_functor import PyExprMutator, mutator

from usmp.objects.attributes.module_attributes import CONCURRENT_ATTR, ENTRIES_ATTR
from usmp.passes import ModulePass
from usmp.relax.entries import relax_entries
from usmp.tir.nodes import nodes_of


@tvm.transform.module_pass(opt_level=0, name="usmp.ResolveMatchCasts")
class ResolveMatchCasts(ModulePass):
    """Remove each `R.match_cast` in an entry to a shape that its tensor is known to have.

    The shape variables of the cast are replaced by the known extents. A cast of a tensor whose
    shape is known only at run time stays. A module without casts is returned as it is.
    """

    reads = (ENTRIES_ATTR, CONCURRENT_ATTR)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite the entries."""
        entries = relax_entries(mod)
        resolved = {
            variable: _resolved(func)
            for variable, func in mod.functions.items()
            if str(variable.name_hint) in entries
            and isinstance(func, relax.Function)
            and nodes_of(func.body, relax.MatchCast)
        }
        if not resolved:
            return mod
        return IRModule({**dict(mod.functions.items()), **resolved}, attrs=mod.attrs)


def _resolved(func: relax.Function) -> relax.Function:
    """Return the function without the casts that are known to hold.

    Several rounds are needed where an extent follows from another one.
    """
    remaining = len(nodes_of(func.body, relax.MatchCast))
    while remaining:
        # CanonicalizeBindings adds casts to branches whose shapes differ.
        mod = relax.transform.CanonicalizeBindings()(IRModule({"main": func}))
        func = _WithoutWideCasts().visit_expr(relax.transform.Normalize()(mod)["main"])
        before, remaining = remaining, len(nodes_of(func.body, relax.MatchCast))
        if remaining >= before:
            break
    return func


@mutator
class _WithoutWideCasts(PyExprMutator):  # type: ignore[misc]
    """A mutator that removes casts to the type of the tensor, or to a wider one."""

    def visit_match_cast_(self, binding: relax.MatchCast) -> None:
        """Replace the variable by the tensor that is cast."""
        value = self.visit_expr(binding.value)
        checked = relax.analysis.type_base_check(binding.ty, value.ty)
        if checked == relax.analysis.BaseCheckResult.PASS:
            self.set_var_remap(binding.var, value)
        else:
            super().visit_match_cast_(binding)
