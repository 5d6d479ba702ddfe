"""Another body for the Relax `main` of a module."""

from __future__ import annotations

from tvm import relax
from tvm.ir import IRModule

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
