"""Another body for the Relax `main` of a module."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax
from tvm.ir import IRModule
from tvm.relax.expr_functor import PyExprMutator

from usmp.relax.static_shapes import main_function


def with_main_body(mod: IRModule, body: relax.Expr) -> IRModule:
    """A module whose `main` computes `body` from the same parameters.

    Calls in `body` that were made anew, and have no type yet, get one.

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


def rewrite_main(mod: IRModule, mutator: Callable[[IRModule], PyExprMutator]) -> IRModule:
    """The module with what a mutator makes of `main`, without what that does not need, and without
    variables that are bound to other ones."""
    # A builder that adds no function gives the module that it got.
    rewriter = mutator(mod.clone())
    main = rewriter.visit_expr(mod["main"])
    rewritten, variable = rewriter.builder_.get(), mod.get_global_var("main")
    alone = relax.transform.CanonicalizeBindings()(IRModule({variable: main}))
    rewritten.update_func(variable, alone[variable])
    if mod.attrs:
        rewritten = rewritten.with_attrs(mod.attrs)
    return relax.transform.DeadCodeElimination()(rewritten)
