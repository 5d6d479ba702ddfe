"""Base classes of the objects that are registered with tvm-ffi."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from tvm_ffi import Object, structural_equal, structural_hash


class FFIObject(Object):
    """The base of classes with ``c_class`` or ``py_class``, with the constructor for type checks.

    Deep copies go through pickling, because tvm-ffi's deep copy does not copy tensors and loses the
    conflicts of buffers.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Define the deep copy before ``c_class`` does."""
        super().__init_subclass__(**options)
        cls.__deepcopy__ = _deep_copy  # type: ignore[attr-defined]

    if TYPE_CHECKING:

        def __ffi_init__(self, *args: Any) -> None:
            """Call the C++ constructor."""


def _deep_copy(original: FFIObject, memo: dict[int, Any]) -> FFIObject:
    make, arguments, *states = original.__reduce__()
    copied: FFIObject = make(*deepcopy(arguments, memo))
    for state in states:
        copied.__setstate__(state)
    return copied


class ValueObject(FFIObject):
    """An object that compares by value: two with equal fields, including tensors, are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Object) and structural_equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return structural_hash(self)
