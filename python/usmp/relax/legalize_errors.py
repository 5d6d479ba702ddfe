"""Errors of TVM's passes that name the operator of `main` at which they fail."""

from __future__ import annotations

import tvm
from tvm import relax, tirx
from tvm.ir import IRModule

from usmp.support.errors import UnsupportedModelError
from usmp.support.tvm_errors import cannot
from usmp.tir.nodes import variable_bindings


def apply_to_operators(passes: tvm.transform.Pass, mod: IRModule) -> IRModule:
    """Apply passes to a module; if they fail, name the operator that they fail at.

    Raises
    ------
    UnsupportedModelError
        the passes fail; the message has the operator, its result and the reason.
    """
    try:
        return passes(mod)
    except UnsupportedModelError:
        raise
    except Exception as error:
        for binding in variable_bindings(mod["main"]):
            try:
                passes(_alone(mod, binding))
            except Exception as own:
                name = getattr(getattr(binding.value, "op", None), "name", "expression")
                result = f"(result {binding.var.name}: {binding.var.ty})"
                raise cannot(f"lower operator {name} {result}", own) from own
        raise cannot("lower the model", error) from error


def _alone(mod: IRModule, binding: relax.VarBinding) -> IRModule:
    """Return a module whose `main` computes only this binding, from parameters."""
    output = relax.Var("result", binding.var.ty)
    bindings = [
        relax.VarBinding(binding.var, binding.value),
        relax.VarBinding(output, binding.var),
    ]
    params = list(relax.analysis.free_vars(binding.value))
    body = relax.SeqExpr([relax.DataflowBlock(bindings)], output)
    # With a symbol, because a private function without callers is removed.
    main = relax.Function(params, body, output.ty).with_attr("global_symbol", "main")
    functions = {var: f for var, f in mod.functions.items() if isinstance(f, tirx.PrimFunc)}
    return IRModule({**functions, tvm.ir.GlobalVar("main"): main})
