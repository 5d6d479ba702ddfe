"""Values of Relax variables in `__tvm_main__`: flat buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod
from operator import mul
from typing import TypeAlias

from tvm import relax, tirx

from usmp.objects.state_info import StateInfo
from usmp.tir.size_expressions import Extent

Value: TypeAlias = "tirx.Buffer | tuple[Value, ...]"
"""The value of a Relax variable: the flat buffer of a tensor, or a tuple of values."""


def flatten(value: Value) -> Iterator[tirx.Buffer]:
    """Yield the buffers of a nested tuple, in order."""
    if isinstance(value, tuple):
        for element in value:
            yield from flatten(element)
    else:
        yield value


def flat_buffer(name: str, shape: Sequence[Extent], dtype: str) -> tirx.Buffer:
    """Return a one-dimensional buffer; a scalar has one element."""
    constant = prod(extent for extent in shape if isinstance(extent, int))
    symbolic = [extent for extent in shape if not isinstance(extent, int)]
    # A constant extent of 0 makes the tensor empty for all sizes.
    elements = reduce(mul, symbolic, tirx.IntImm("int32", 1)) * constant if constant else 0
    return tirx.decl_buffer((elements if symbolic else constant,), str(dtype), name)


def tensor_type(state: StateInfo) -> relax.TensorType:
    """Return the type of a state whose initial value is stored in full, not as one element."""
    value = state.initial_value
    return relax.TensorType([int(extent) for extent in value.shape], str(value.dtype))
