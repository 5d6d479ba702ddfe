"""Symbolic sizes of a Relax `main` in `__tvm_main__`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import tvm
from tvm import tirx
from tvm.ir import GlobalVar, IRModule, PointerType, Var

from usmp.analysis.symbolic.extents import greatest
from usmp.aot.main_bindings import shape_and_dtype
from usmp.objects.symbolic_size import SymbolicSize
from usmp.objects.tensor_info import TensorInfo


def tensor_info(
    name: str, ty: tvm.ir.Type, sizes: Iterable[SymbolicSize], is_updated: bool = False
) -> TensorInfo:
    """Return the description of an input or output for users.

    Raises
    ------
    UnsupportedModelError
        its shape is only known at run time.
    """
    known = list(sizes)
    variables = {str(size.name): tirx.Var(size.name, "int32") for size in known}
    shape, dtype = shape_and_dtype(ty, name, variables)
    if all(isinstance(extent, int) for extent in shape):
        return TensorInfo(name, shape, dtype, is_updated=is_updated)
    noted = [SymbolicSize(size.name, size.lower_bound, size.noted_value) for size in known]
    extents = [extent if isinstance(extent, int) else greatest(extent, noted) for extent in shape]
    return TensorInfo(name, extents, dtype, symbolic_shape=shape, is_updated=is_updated)


def sizes_of_operators(mod: IRModule, sizes: Mapping[str, Var]) -> dict[GlobalVar, list[Var]]:
    """Return the sizes that each operator takes after its pointers."""
    return {
        variable: [sizes[str(p.name)] for p in func.params if not isinstance(p.ty, PointerType)]
        for variable, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc)
    }
