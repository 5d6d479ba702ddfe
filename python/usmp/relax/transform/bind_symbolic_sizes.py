"""BindSymbolicSizes: PrimFuncs use the shape variables of the `main` that calls them."""

from __future__ import annotations

from collections.abc import Mapping

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, Var

from usmp.objects.attributes.module_attributes import SIZE_BOUNDS
from usmp.passes import ModulePass
from usmp.relax.static_shapes import flatten_types, main_function
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name
from usmp.tir.size_expressions import has_symbolic_shapes


@tvm.transform.module_pass(opt_level=0, name="usmp.BindSymbolicSizes")
class BindSymbolicSizes(ModulePass):
    """Bind the shape variables of each PrimFunc to the values at its call sites.

    TVM's legalization gives each PrimFunc its own shape variables. Here they become expressions of
    the variables of `main`, so that a variable is one number in the whole module. A PrimFunc that
    is called with several shapes is copied for each.

    Raises
    ------
    UnsupportedModelError
        a shape of a PrimFunc does not follow from its arguments.
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
        # Not with a BlockBuilder, which merges PrimFuncs of shapes [n, m] and [m, n].
        kept = {v: f for v, f in mod.functions.items() if v not in symbolic}
        bound = IRModule(kept, attrs=mod.attrs)
        names = UniqueNames(str(v.name_hint) for v in bound.functions)
        variants: dict[tuple[GlobalVar, str], GlobalVar] = {}

        def bind(call: Call) -> Call:
            if op_name(call) not in _CALLS or call.args[0] not in symbolic:
                return call
            callee = call.args[0]
            func, values = mod[callee], _values(mod[callee], call, str(callee.name_hint))
            key = callee, str([(str(var.name), str(value)) for var, value in values.items()])
            if key not in variants:
                variants[key] = GlobalVar(names.unique(str(callee.name_hint)))
                bound.update_func(variants[key], _bound(func, values))
            args = [variants[key], _tensors(call.args[1])]
            return Call(call.op, args, call.attrs, call.ty_args, call.span, call.ty)

        body = tvm_ffi.structural_map(main, (Call, bind))
        bound.update_func(mod.get_global_var("main"), body)
        return bound


_CALLS = ("relax.call_tir", "relax.call_tir_inplace")


def _values(func: tirx.PrimFunc, call: Call, name: str) -> dict[Var, tirx.Expr]:
    """Return the values of a PrimFunc's shape variables at a call site."""
    results = flatten_types(call.ty_args[0])
    if call.op.name == "relax.call_tir_inplace":
        indices = [int(index) for index in call.attrs.inplace_indices]
        results = [ty for ty, index in zip(results, indices, strict=True) if index < 0]
    sizes = list(call.args[2].values) if len(call.args) > 2 else []
    values: dict[Var, tirx.Expr] = {}
    for param, argument in zip(func.params, [*call.args[1].fields, *results, *sizes], strict=True):
        if isinstance(param.ty, PointerType):
            continue
        if not tirx.is_buffer_var(param):
            values[param] = getattr(argument, "value", argument)
            continue
        shape = (argument if isinstance(argument, relax.TensorType) else argument.ty).shape
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
    """Return the variables in the shapes of a PrimFunc's buffers."""
    buffers = (param for param in func.params if tirx.is_buffer_var(param))
    return {var for buffer in buffers for extent in buffer.shape for var in nodes_of(extent, Var)}


def _bound(func: tirx.PrimFunc, values: Mapping[Var, tirx.Expr]) -> tirx.PrimFunc:
    """Specialize a PrimFunc to these values of its shape variables."""
    # Make shape variables parameters, because TVM infers `n` from an extent `n`, not from `n + 1`.
    shape_variables = [var for var in values if var not in set(func.params)]
    params = [*func.params, *shape_variables]
    extended = tirx.PrimFunc(params, func.body, func.ret_type, func.attrs)
    return extended.specialize(dict(values))


def _tensors(arguments: relax.Tuple) -> relax.Tuple:
    """Return the tensors among the arguments, without sizes."""
    return relax.Tuple([f for f in arguments.fields if isinstance(f.ty, relax.TensorType)])
