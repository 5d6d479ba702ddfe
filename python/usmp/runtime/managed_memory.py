"""The memory of a planner while its module runs, which C++ manages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tvm_ffi
from tvm_ffi.dataclasses import c_class

from usmp import _ffi as _ffi
from usmp.objects.ffi_object import FFIObject


class CapacityError(MemoryError):
    """Tensors need more bytes than the capacity that the user gave; nothing was overwritten."""


# It comes out of C++, too.
tvm_ffi.register_error("CapacityError", CapacityError)


@c_class("usmp.ManagedMemory", init=False)
class ManagedMemory(FFIObject):
    """Places and memory of the tensors of one function; see ``src/usmp/managed_memory.h``.

    Parameters
    ----------
    token
        Number of the function whose tensors these are, which the compiled module has, too.
    names, ndims, dtypes, are_outputs, are_in_branches
        By number of the tensor.
    expected
        Numbers of the tensors of which the function says the sizes when it begins.
    capacity
        Bytes that intermediates may take; None is no limit.
    poison
        Whether bytes that hold nothing are overwritten with 0xFF.
    replan
        Called with the sizes that are expected, or after a run with None; it calls `set_plan`.
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
            """The function that calls this one, which takes its memory from here."""

        def set_plan(
            self,
            largest: Sequence[int],
            offsets: Sequence[int],
            rooms: Sequence[int],
            sharing: Sequence[Sequence[int]],
            buffer_bytes: int,
            output_bytes: int,
        ) -> None:
            """Give tensors other places; a room of -1 is none."""

        def release(self) -> None:
            """Forget buffers and sizes."""

        def release_outputs(self) -> None:
            """Forget the output buffers."""

        def largest(self) -> Sequence[int]:
            """Bytes at most so far, by tensor; -1 if it was never allocated."""

        def escaped(self) -> Sequence[int]:
            """Numbers of the tensors that something kept beyond a run."""

        def counters(self) -> Mapping[str, int]:
            """What was counted, by name."""

        def is_in_buffer(self, tensor: Any) -> bool:
            """Whether the data begins in the managed buffer."""

        def is_in_output_buffer(self, tensor: Any) -> bool:
            """Whether the data begins in an output buffer."""
