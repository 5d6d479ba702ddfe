"""MakeParameterNamesUnique: inputs get distinct names, because names identify them."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import IRModule

from usmp.passes import ModulePass
from usmp.relax.static_shapes import main_function
from usmp.support.text.unique_names import names_apart


@tvm.transform.module_pass(opt_level=0, name="usmp.MakeParameterNamesUnique")
class MakeParameterNamesUnique(ModulePass):
    """Add a number to the name of each parameter of `main` whose name is taken.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rename the parameters."""
        return _make_parameter_names_unique(mod)


def _make_parameter_names_unique(mod: IRModule) -> IRModule:
    main = main_function(mod)
    names = names_apart(param.name for param in main.params)
    renamed = {
        param: relax.Var(name, param.ty)
        for param, name in zip(main.params, names, strict=True)
        if str(param.name) != name
    }
    if not renamed:
        return mod
    params = [renamed.get(param, param) for param in main.params]
    body = tvm_ffi.structural_map(main.body, (relax.Var, lambda var: renamed.get(var, var)))
    result = mod.clone()
    func = relax.Function(params, body, main.ret_ty, main.is_pure, main.attrs)
    result.update_func(result.get_global_var("main"), func)
    return result
