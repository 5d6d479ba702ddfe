"""The memory of a `MemoryPlanner`, which C++ manages while its module runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tvm_ffi
from tvm_ffi.dataclasses import c_class

from usmp import _ffi as _ffi
from usmp.objects.ffi_object import FFIObject


class CapacityError(MemoryError):
    """Tensors need more bytes than the user's capacity; nothing was overwritten."""


# Register the error, because C++ raises it too.
tvm_ffi.register_error("CapacityError", CapacityError)


@c_class("usmp.ManagedMemory", init=False)
class ManagedMemory(FFIObject):
    """The offsets and the memory of the tensors of a function; see ``src/usmp/managed_memory.h``.

    Parameters
    ----------
    token
        Number of the function, as in the compiled module.
    names, ndims, dtypes, are_outputs, are_in_branches
        Facts of each tensor, by its number.
    expected
        Numbers of the tensors whose sizes the function announces at its start.
    capacity
        Limit of the intermediates in bytes; None for no limit.
    poison
        Whether to overwrite unused bytes with 0xFF.
    replan
        Function that calls `set_plan`. Its argument is the announced sizes, or None after a run.
    """

    def __init__(
        self,
        token: int,
        names: Sequence[str],
        ndims: Sequence[int],
        dtypes: Sequence[str],
        are_outputs: Sequence[bool],
        are_in_branches: Sequence[bool],
        expected: Sequence[int],
        capacity: int | None,
        poison: bool,
        replan: Callable[[Sequence[int] | None], None],
    ) -> None:
        self.__ffi_init__(
            token,
            list(names),
            list(ndims),
            [tvm_ffi.dtype(dtype) for dtype in dtypes],
            list(are_outputs),
            list(are_in_branches),
            list(expected),
            -1 if capacity is None else capacity,
            poison,
            tvm_ffi.convert(replan),
        )

    if TYPE_CHECKING:

        def bind(self, function: Any) -> Callable[..., Any]:
            """Return a function that runs `function` with this memory."""

        def set_plan(
            self,
            largest: Sequence[int],
            offsets: Sequence[int],
            limits: Sequence[int],
            sharing: Sequence[Sequence[int]],
            buffer_bytes: int,
            output_bytes: int,
        ) -> None:
            """Set new places (see `TensorPlaces`), and the largest sizes so far in bytes."""

        def release(self) -> None:
            """Release the buffers, and reset the sizes."""

        def release_outputs(self) -> None:
            """Release the output buffers."""

        def largest(self) -> Sequence[int]:
            """Return the largest size of each tensor so far in bytes; -1 if never allocated."""

        def escaped(self) -> Sequence[int]:
            """Return the numbers of the tensors that something kept alive after a run."""

        def counters(self) -> Mapping[str, int]:
            """Return the counters by name."""

        def is_in_buffer(self, tensor: Any) -> bool:
            """Return whether the data of a tensor begins in the managed buffer."""

        def is_in_output_buffer(self, tensor: Any) -> bool:
            """Return whether the data of a tensor begins in an output buffer."""
