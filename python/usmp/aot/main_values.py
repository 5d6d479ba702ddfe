"""What the variables of a Relax `main` become in `__tvm_main__`: flat buffers, and names."""

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
"""What a Relax variable stands for: the flat buffer of a tensor, or a tuple of such."""


def flatten(value: Value) -> Iterator[tirx.Buffer]:
    """The buffers of a tuple, and of tuples in it, in order."""
    if isinstance(value, tuple):
        for element in value:
            yield from flatten(element)
    else:
        yield value


def flat_buffer(name: str, shape: Sequence[Extent], dtype: str) -> tirx.Buffer:
    """A one-dimensional buffer; a scalar has one element."""
    constant = prod(extent for extent in shape if isinstance(extent, int))
    symbolic = [extent for extent in shape if not isinstance(extent, int)]
    # Whatever the sizes are, nothing is left of it.
    elements = reduce(mul, symbolic, tirx.IntImm("int32", 1)) * constant if constant else 0
    return tirx.decl_buffer((elements if symbolic else constant,), str(dtype), name)


def tensor_type(state: StateInfo) -> relax.TensorType:
    """Of a state whose initial value has all of its elements."""
    value = state.initial_value
    return relax.TensorType([int(extent) for extent in value.shape], str(value.dtype))
