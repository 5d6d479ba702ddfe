"""Static shapes of Relax tensors, and the Relax `main`."""

from __future__ import annotations

from math import prod

import tvm
from tvm import relax
from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.ops.emit import static_shape
from usmp.support.errors import UnsupportedModelError
from usmp.tir.dtypes import item_bytes

LARGEST_TENSOR_BYTES = 2**31 - 1


def main_function(mod: IRModule) -> relax.Function:
    """Return the Relax `main` of the module.

    Raises
    ------
    UnsupportedModelError
        the module has no such function.
    """
    main = next((f for v, f in mod.functions.items() if v.name_hint == "main"), None)
    if not isinstance(main, relax.Function):
        problem = 'the module has no Relax function "main"'
        if any(v.name_hint == MAIN_FUNCTION_NAME for v in mod.functions):
            problem += (
                f', but a PrimFunc "{MAIN_FUNCTION_NAME}": plan it with usmp.transform.'
                "UnifiedStaticMemoryPlanner, if it is not planned, and pass it to "
                "usmp.AOTExecutorFactoryModule, which has the C"
            )
        raise UnsupportedModelError(problem)
    return main


def has_static_shape(ty: relax.TensorType) -> bool:
    """Return whether all extents of a tensor are constants."""
    return static_shape(ty) is not None


def flatten_types(ty: tvm.ir.Type) -> list[tvm.ir.Type]:
    """Return the leaf types of a nested tuple type, in order."""
    if isinstance(ty, tvm.ir.TupleType):
        return [leaf for element in ty.fields for leaf in flatten_types(element)]
    return [ty]


def size_bytes(ty: tvm.ir.Type) -> int:
    """Return the bytes of all tensors in a type, or 0 without tensors; shapes must be static."""
    leaves = [leaf for leaf in flatten_types(ty) if isinstance(leaf, relax.TensorType)]
    return sum(prod(map(int, leaf.shape)) * item_bytes(str(leaf.dtype)) for leaf in leaves)
