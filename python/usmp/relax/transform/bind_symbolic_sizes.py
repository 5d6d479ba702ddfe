"""BindSymbolicSizes: operators have the shape variables of the `main` that calls them."""

from __future__ import annotations

from collections.abc import Mapping

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, Var

from usmp.objects.attributes import SIZE_BOUNDS
from usmp.passes import ModulePass
from usmp.relax.static_shapes import flatten_types, main_function
from usmp.support.errors import UnsupportedModelError
from usmp.support.unique_names import UniqueNames
from usmp.tir.nodes import nodes_of
from usmp.tir.size_expressions import has_symbolic_shapes


@tvm.transform.module_pass(opt_level=0, name="usmp.BindSymbolicSizes")
class BindSymbolicSizes(ModulePass):
    """Give the shape variables of each PrimFunc the values that they have where it is called.

    TVM's legalization makes PrimFuncs with shape variables of their own, which a call binds by the
    shapes of its arguments. Here they become expressions of the variables of `main`, so that a
    variable means one number wherever it stands. A PrimFunc that is called with several shapes
    becomes several.

    Raises
    ------
    UnsupportedModelError
        a shape of a PrimFunc that its arguments do not tell.
    """

    reads = SIZE_BOUNDS

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Replace the PrimFuncs that have shape variables."""
        main = main_function(mod)
        symbolic = {
            v
            for v, f in mod.functions.items()
            if isinstance(f, tirx.PrimFunc) and has_symbolic_shapes(f)
        }
        if not symbolic:
            return mod
        # No BlockBuilder: for it PrimFuncs are equal of which one has [n, m] and the other [m, n].
        kept = {v: f for v, f in mod.functions.items() if v not in symbolic}
        bound = IRModule(kept, attrs=mod.attrs)
        names = UniqueNames(str(v.name_hint) for v in bound.functions)
        made: dict[tuple[GlobalVar, str], GlobalVar] = {}

        def bind(call: Call) -> Call:
            if getattr(call.op, "name", "") not in _CALLS or call.args[0] not in symbolic:
                return call
            callee = call.args[0]
            func, values = mod[callee], _values(mod[callee], call, str(callee.name_hint))
            key = callee, str([(str(var.name), str(value)) for var, value in values.items()])
            if key not in made:
                made[key] = GlobalVar(names.unique(str(callee.name_hint)))
                bound.update_func(made[key], _bound(func, values))
            args = [made[key], _tensors(call.args[1])]
            return Call(call.op, args, call.attrs, call.ty_args, call.span, call.ty)

        body = tvm_ffi.structural_map(main, (Call, bind))
        bound.update_func(mod.get_global_var("main"), body)
        return bound


_CALLS = ("relax.call_tir", "relax.call_tir_inplace")


def _values(func: tirx.PrimFunc, call: Call, name: str) -> dict[Var, tirx.Expr]:
    """What the shape variables of a PrimFunc are where it is called."""
    results = flatten_types(call.ty_args[0])
    if call.op.name == "relax.call_tir_inplace":
        indices = [int(index) for index in call.attrs.inplace_indices]
        results = [ty for ty, index in zip(results, indices, strict=True) if index < 0]
    sizes = list(call.args[2].values) if len(call.args) > 2 else []
    values: dict[Var, tirx.Expr] = {}
    for param, given in zip(func.params, [*call.args[1].fields, *results, *sizes], strict=True):
        if isinstance(param.ty, PointerType):
            continue
        if not tirx.is_buffer_var(param):
            values[param] = getattr(given, "value", given)
            continue
        shape = (given if isinstance(given, relax.TensorType) else given.ty).shape
        for extent, value in zip(param.shape, shape, strict=True):
            if isinstance(extent, Var):
                values.setdefault(extent, value)
    unknown = _mentioned(func) - values.keys()
    if unknown:
        raise UnsupportedModelError(
            f"operator {name} has a shape with {min(str(var.name) for var in unknown)}, which its "
            "arguments do not tell; give the model fixed input shapes"
        )
    return values


def _mentioned(func: tirx.PrimFunc) -> set[Var]:
    """The variables in the shapes of what a PrimFunc takes."""
    buffers = (param for param in func.params if tirx.is_buffer_var(param))
    return {var for buffer in buffers for extent in buffer.shape for var in nodes_of(extent, Var)}


def _bound(func: tirx.PrimFunc, values: Mapping[Var, tirx.Expr]) -> tirx.PrimFunc:
    """The PrimFunc with these values of its shape variables."""
    # A shape tells TVM a variable only if it is an extent by itself; so all are parameters.
    shape_variables = [var for var in values if var not in set(func.params)]
    params = [*func.params, *shape_variables]
    taking = tirx.PrimFunc(params, func.body, func.ret_type, func.attrs)
    return taking.specialize(dict(values))


def _tensors(arguments: relax.Tuple) -> relax.Tuple:
    """The arguments that are no sizes."""
    return relax.Tuple([f for f in arguments.fields if isinstance(f.ty, relax.TensorType)])
