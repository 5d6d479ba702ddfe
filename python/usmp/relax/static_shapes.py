"""The shapes of tensors in Relax, and the function that has them."""

from __future__ import annotations

from math import prod

import tvm
from tvm import relax
from tvm.ir import IRModule

from usmp.ops.emit import static_shape
from usmp.support.errors import UnsupportedModelError

LARGEST_TENSOR_BYTES = 2**31 - 1


def main_function(mod: IRModule) -> relax.Function:
    """The Relax `main` of the module.

    Raises
    ------
    UnsupportedModelError
        there is none.
    """
    main = next((f for v, f in mod.functions.items() if v.name_hint == "main"), None)
    if not isinstance(main, relax.Function):
        raise UnsupportedModelError('the module has no Relax function "main"')
    return main


def has_static_shape(ty: relax.TensorType) -> bool:
    """Whether all extents are constants."""
    return static_shape(ty) is not None


def flatten_types(ty: tvm.ir.Type) -> list[tvm.ir.Type]:
    """The types of a tuple, and of tuples in it, one after the other."""
    if isinstance(ty, tvm.ir.TupleType):
        return [leaf for element in ty.fields for leaf in flatten_types(element)]
    return [ty]


def size_bytes(ty: tvm.ir.Type) -> int:
    """Bytes of all tensors in a type, of static shapes; 0 of what holds none."""
    tensors = [each for each in flatten_types(ty) if isinstance(each, relax.TensorType)]
    return sum(
        prod(map(int, each.shape)) * int(tvm.DataType(str(each.dtype)).itemsize) for each in tensors
    )
