"""The base of all objects that C++ implements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm_ffi import Object


class FFIObject(Object):
    """Tells type checkers what ``c_class`` adds to a class at run time."""

    if TYPE_CHECKING:

        def __ffi_init__(self, *args: Any) -> None:
            """Call the C++ constructor."""
