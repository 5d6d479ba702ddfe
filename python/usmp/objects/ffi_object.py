"""The bases of all objects that C++ implements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm_ffi import Object, structural_equal, structural_hash


class FFIObject(Object):
    """Declares to type checkers what ``c_class`` adds to a class at run time."""

    if TYPE_CHECKING:

        def __ffi_init__(self, *args: Any) -> None:
            """Call the C++ constructor."""


class ValueObject(FFIObject):
    """An object that is what its fields say: two with equal fields, tensors too, are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Object) and structural_equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return structural_hash(self)
