"""CheckShapes: shapes are static or symbolic, because memory is planned at compile time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import IRModule, Var

from usmp.objects.attributes.module_attributes import SIZE_BOUNDS
from usmp.passes import ModulePass
from usmp.relax.binding_titles import operator_title, result_title
from usmp.relax.static_shapes import (
    LARGEST_TENSOR_BYTES,
    flatten_types,
    has_static_shape,
    main_function,
)
from usmp.relax.symbolic_operators import with_possible_sizes
from usmp.relax.symbolic_sizes import (
    size_variables,
    symbolic_shape,
)
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.plain_text import shown
from usmp.tir.dtypes import item_bytes
from usmp.tir.nodes import nodes_of


@tvm.transform.module_pass(opt_level=0, name="usmp.CheckShapes")
class CheckShapes(ModulePass):
    """Check that every tensor of the Relax `main` has known extents, of a size that C can index.

    An extent is a constant, or an expression of shape variables of the inputs (see
    `usmp.relax.symbolic_sizes`). Tensors that depend on an unbounded size are checked by each run.
    Operators with symbolic extents must support all sizes (see `usmp.relax.symbolic_operators`),
    and lower bounds of sizes are raised so that every tensor has elements. A module without
    symbolic sizes is returned as it is.

    Raises
    ------
    UnsupportedModelError
        there is no Relax function `main`; a tensor's shape is not known, impossible, or too large;
        or an operator does not support all sizes.
    """

    reads = SIZE_BOUNDS

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Check `main`."""
        main = main_function(mod)
        sizes = list(size_variables(main))
        for param in main.params:
            _check_input(param)
            _check(param, f"input {shown(param.name)}", sizes)

        def on_binding(binding: relax.VarBinding) -> None:
            if not sizes:
                _check_computed(binding)
            _check(binding.var, result_title(binding), sizes)

        tvm_ffi.structural_walk(main.body, (relax.VarBinding, on_binding))
        if not sizes:
            return mod
        checked = IRModule(mod.functions, attrs=mod.attrs)
        checked.update_func(mod.get_global_var("main"), with_possible_sizes(main))
        return checked


def _check_input(param: Var) -> None:
    if isinstance(param.ty, tvm.ir.TupleType):
        raise UnsupportedModelError(
            f"input {param.name} is a tuple, {param.ty}; make each of its tensors a parameter"
        )
    if not isinstance(param.ty, relax.TensorType):
        raise UnsupportedModelError(
            f"input {param.name} has type {param.ty}; inputs are tensors of known shape"
        )


def _check_computed(binding: relax.VarBinding) -> None:
    """Check that the shape of a result does not depend on the values of inputs."""
    for ty in flatten_types(binding.var.ty):
        if isinstance(ty, relax.TensorType) and not isinstance(ty.shape, relax.ShapeExpr):
            raise UnsupportedModelError(
                f"{result_title(binding)} has a dynamic shape, {ty}: that of what "
                f"{operator_title(binding.value) or 'an expression'} computes is only known when "
                "the model runs, and memory is planned at compile time; compute something of fixed "
                "shape"
            )


def _check(var: Var, title: str, sizes: Sequence[Var]) -> None:
    for ty in flatten_types(var.ty):
        if not isinstance(ty, relax.TensorType):
            continue
        if not has_static_shape(ty):
            _check_symbolic(var, ty, title, sizes)
            continue
        extents = [int(extent) for extent in ty.shape]
        if any(extent < 0 for extent in extents):
            raise UnsupportedModelError(f"{title} has the impossible shape {extents}")
        size_bytes = prod(extents) * item_bytes(str(ty.dtype))
        if size_bytes > LARGEST_TENSOR_BYTES:
            raise UnsupportedModelError(
                f"{title} of shape {extents} takes {size_bytes} bytes; a tensor may take "
                f"{LARGEST_TENSOR_BYTES}, because the emitted C indexes with 32 bits"
            )


def _check_symbolic(var: Var, ty: relax.TensorType, title: str, sizes: Sequence[Var]) -> None:
    shape = symbolic_shape(ty)
    if shape is None:
        raise UnsupportedModelError(
            f"{title} has a dynamic shape, {ty}; memory is planned at compile time: "
            "give the model fixed input shapes and try again"
        )
    for other in (v for extent in shape for v in nodes_of(extent, Var)):
        if not any(other.same_as(size) for size in sizes):
            raise UnsupportedModelError(
                f"{title} has a dynamic shape, {ty}, and {other.name} is not the size of "
                "an input: it depends on what the model computes; give the model fixed shapes"
            )
