"""New bodies for the Relax `main`."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tvm import relax
from tvm.ir import GlobalVar, IRModule, Var
from tvm.relax.expr_functor import PyExprMutator

from usmp.relax.static_shapes import main_function
from usmp.tir.nodes import nodes_of


def with_main_body(mod: IRModule, body: relax.Expr) -> IRModule:
    """Return a module whose `main` computes `body` from the same parameters.

    New calls in `body` without a type get one.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """
    main = main_function(mod)
    changed = mod.clone()
    func = relax.Function(main.params, body, main.ret_ty, main.is_pure, main.attrs)
    changed.update_func(changed.get_global_var("main"), func)
    return relax.transform.Normalize()(changed)


def without_callees(mod: IRModule, results: Collection[Var]) -> IRModule:
    """Return the module without functions that only the operators with these results call, so that
    new functions can take their names."""
    main = main_function(mod)
    bindings = [binding for block in main.body.blocks for binding in block.bindings]
    replaced = [binding.value for binding in bindings if binding.var in results]
    kept = [binding.value for binding in bindings if binding.var not in results]
    others = [func for func in mod.functions.values() if not func.same_as(main)]
    used = {variable for expr in (*others, *kept) for variable in nodes_of(expr, GlobalVar)}
    callees = {variable for call in replaced for variable in nodes_of(call, GlobalVar)}
    functions = {v: f for v, f in mod.functions.items() if v in used or v not in callees}
    return IRModule(functions, attrs=mod.attrs)


def rewrite_main(mod: IRModule, mutator: Callable[[IRModule], PyExprMutator]) -> IRModule:
    """Apply a mutator to `main`, then remove dead code and aliases of variables."""
    # A clone, because a builder that adds no function returns its input.
    rewriter = mutator(mod.clone())
    main = rewriter.visit_expr(mod["main"])
    rewritten, variable = rewriter.builder_.get(), mod.get_global_var("main")
    rewritten.update_func(variable, main)
    # Other functions stay as they are, so only `main` is updated.
    rewritten.update_func(variable, relax.transform.CanonicalizeBindings()(rewritten)[variable])
    if mod.attrs:
        rewritten = rewritten.with_attrs(mod.attrs)
    return relax.transform.DeadCodeElimination()(rewritten)
