"""The executor that code is made for, as `tvm.relay.backend.Executor` was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.ir import IRModule
from tvm_ffi.dataclasses import py_class

from usmp.objects.attributes import EXECUTOR_ATTR
from usmp.objects.ffi_object import FFIObject

DEFAULT_BYTE_ALIGNMENT = 16


def _is_alignment(value: object) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return value > 0 and value & (value - 1) == 0


_OPTIONS: dict[str, tuple[Callable[[object], bool], str]] = {
    "workspace-byte-alignment": (_is_alignment, "a power of two (bytes)"),
    "constant-byte-alignment": (_is_alignment, "a power of two (bytes)"),
    "interface-api": (lambda value: value == "c", '"c" (the packed interface is not supported)'),
    "unpacked-api": (lambda value: value in (True, 1), "true (the packed API is not supported)"),
    "link-params": (lambda value: value in (True, 1), "true (constants are part of the code)"),
}


@py_class("usmp.Executor", init=False)
class Executor(FFIObject):
    """How a compiled model is run.

    Parameters
    ----------
    name: "aot", the only executor: one C function that calls the operators in order.
    options: TVM's options of that executor: "workspace-byte-alignment" and
        "constant-byte-alignment" (bytes, a power of two, 16 by default), "interface-api" ("c"),
        "unpacked-api" and "link-params" (true).

    Raises
    ------
    ValueError: an unknown executor or option, or a value that the option does not take.
    """

    name: str
    options: dict[str, Any]

    def __init__(self, name: str = "aot", options: dict[str, Any] | None = None) -> None:
        if name != "aot":
            raise ValueError(f'unknown executor "{name}"; supported: "aot"')
        for option, value in (options or {}).items():
            if option not in _OPTIONS:
                known = ", ".join(sorted(_OPTIONS))
                raise ValueError(f'unknown option "{option}" of executor aot; supported: {known}')
            accepts, expected = _OPTIONS[option]
            if not accepts(value):
                raise ValueError(f"option {option} of executor aot must be {expected}, not {value}")
        self.__ffi_init__(name, dict(options or {}))

    @property
    def workspace_byte_alignment(self) -> int:
        """Alignment in bytes of every buffer in a workspace pool."""
        return int(self.options.get("workspace-byte-alignment", DEFAULT_BYTE_ALIGNMENT))

    @property
    def constant_byte_alignment(self) -> int:
        """Alignment in bytes of every constant."""
        return int(self.options.get("constant-byte-alignment", DEFAULT_BYTE_ALIGNMENT))


def executor_of(mod: IRModule) -> Executor:
    """The executor that `mod` is made for; AoT with default options if it does not say."""
    executor = mod.attrs.get(EXECUTOR_ATTR) if mod.attrs else None
    if executor is None:
        return Executor()
    if not isinstance(executor, Executor):
        raise ValueError(
            f'the attribute "{EXECUTOR_ATTR}" of the module must be an Executor, not {executor}'
        )
    return executor
