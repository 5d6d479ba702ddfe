"""NormalizeTakeIndices: constant indices of `R.take` become nonnegative, as C needs them."""

from __future__ import annotations

import tvm
import tvm_ffi
from tvm.ir import Call, GenericConst, IRModule, Op

from usmp.ops.emit import constant, shape_of
from usmp.ops.real.indices import checked_from_start
from usmp.ops.views import axis_of
from usmp.passes import ModulePass
from usmp.relax.replace_main import with_main_body
from usmp.relax.static_shapes import has_static_shape, main_function
from usmp.support.errors import UnsupportedModelError


@tvm.transform.module_pass(opt_level=0, name="usmp.NormalizeTakeIndices")
class NormalizeTakeIndices(ModulePass):
    """Wrap negative constant indices of `R.take` in `main`.

    `R.take` with mode "fast" checks no index, and TVM's PyTorch importer passes on negative ones:
    `y[:, -1]` would read before `y`. Indices computed at run time get checks when the operator is
    legalized.

    Raises
    ------
    UnsupportedModelError
        an index is out of bounds, or there is no Relax function `main`.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite `main`."""
        return _normalize_take_indices(mod)


def _normalize_take_indices(mod: IRModule) -> IRModule:
    main = main_function(mod)
    body = tvm_ffi.structural_map(main.body, (Call, _normalized))
    if body.same_as(main.body):
        return mod
    return with_main_body(mod, body)


def _normalized(call: Call) -> Call:
    if not call.op.same_as(Op.get("relax.take")) or call.attrs.mode != "fast":
        return call
    data, indices = call.args
    if not isinstance(indices, GenericConst) or not has_static_shape(data.ty):
        return call
    axis = axis_of(call)
    values = indices.value.numpy()
    try:
        counted = checked_from_start(values, [shape_of(data)[axis]], [axis])
    except UnsupportedModelError as error:
        raise UnsupportedModelError(f"take: {error}") from error
    if (counted == values).all():
        return call
    return Call(call.op, [data, constant(counted)], call.attrs, call.ty_args, call.span)
