"""FuseSlices: slices of element-wise results are fused instead of becoming views."""

from __future__ import annotations

from collections import Counter

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, IRModule

from usmp.passes import ModulePass
from usmp.relax.static_shapes import main_function
from usmp.tir.op_names import op_name

_INJECTIVE = 2
"""TVM's OpPatternKind `kInjective`; smaller kinds are simpler."""


@tvm.transform.module_pass(opt_level=0, name="usmp.FuseSlices")
class FuseSlices(ModulePass):
    """Legalize `R.strided_slice` of an injective operator's result that has no other reader.

    The slice is then fused with the operator, which computes only the elements of the slice;
    usually the operator is a slice, too. Other slices stay, so that `LowerMain` can make them
    views. PrimFuncs need their `op_pattern` (`relax.transform.AnnotateTIROpPattern`).

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite `main`."""
        return _fuse_slices(mod)


def _fuse_slices(mod: IRModule) -> IRModule:
    main = main_function(mod)
    bindings = [binding for block in main.body.blocks for binding in block.bindings]
    values = {binding.var: binding.value for binding in bindings}
    uses = _uses([*values.values(), main.body.body])
    builder = relax.BlockBuilder(mod)
    legalized: dict[Call, relax.Expr] = {}
    computed = {var for var, value in values.items() if _is_injective(mod, value)}
    for var, value in values.items():
        if op_name(value) == "relax.strided_slice":
            source = value.args[0]
            if source in computed and uses[source] == 1:
                legalized[value] = value.op.get_attr("FLegalize")(builder, value)
                computed.add(var)
    if not legalized:
        return mod
    changed = builder.get()
    body = tvm_ffi.structural_map(main, (Call, lambda call: legalized.get(call, call)))
    changed.update_func(changed.get_global_var("main"), body)
    return changed


def _uses(exprs: list[relax.Expr]) -> Counter[tvm.ir.Var]:
    """Count the uses of each variable."""
    uses: Counter[tvm.ir.Var] = Counter()

    def on_variable(var: tvm.ir.Var) -> None:
        uses[var] += 1

    for expr in exprs:
        tvm_ffi.structural_walk(expr, (tvm.ir.Var, on_variable))
    return uses


def _is_injective(mod: IRModule, value: relax.Expr) -> bool:
    if op_name(value) != "relax.call_tir":
        return False
    pattern = mod[value.args[0]].attrs.get("op_pattern")
    return pattern is not None and int(pattern) <= _INJECTIVE
