"""What the variables of a Relax `main` become in `__tvm_main__`: flat buffers, and names."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TypeAlias

from tvm import relax, tirx

from usmp.objects.state_info import StateInfo

Value: TypeAlias = "tirx.Buffer | tuple[Value, ...]"
"""What a Relax variable stands for: the flat buffer of a tensor, or a tuple of such."""


def flatten(value: Value) -> Iterator[tirx.Buffer]:
    """The buffers of a tuple, and of tuples in it, in order."""
    if isinstance(value, tuple):
        for element in value:
            yield from flatten(element)
    else:
        yield value


def flat_buffer(name: str, shape: tuple[int, ...] | list[int], dtype: str) -> tirx.Buffer:
    """A one-dimensional buffer; a scalar has one element."""
    return tirx.decl_buffer((prod(shape),), str(dtype), name)


def tensor_type(state: StateInfo) -> relax.TensorType:
    """Of a state whose initial value has all of its elements."""
    value = state.initial_value
    return relax.TensorType([int(extent) for extent in value.shape], str(value.dtype))


def default_output_names(count: int, taken: set[str]) -> list[str]:
    """Names for the outputs that no input has."""
    stem = "output"
    while any(name.startswith(stem) for name in taken):
        stem += "_"
    return [stem] if count == 1 else [f"{stem}{index}" for index in range(count)]
