"""The executor of a compiled model, like `tvm.relay.backend.Executor`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tvm.ir import IRModule
from tvm_ffi.dataclasses import py_class

from usmp.objects.arguments.named_options import GoneAttribute, NamedOptions
from usmp.objects.attributes.module_attributes import EXECUTOR_ATTR
from usmp.objects.ffi_object import FFIObject
from usmp.support.alignment import is_alignment
from usmp.support.text.known_names import unknown_name
from usmp.tvm018 import EXECUTOR, find
from usmp.tvm018.executor_runtime import LINK_PARAMS

DEFAULT_BYTE_ALIGNMENT = 16
INTERFACE_APIS = ("c", "packed")


def _is_truth(value: object) -> bool:
    return value in (True, False)


_OPTIONS: dict[str, tuple[Callable[[object], bool], str]] = {
    "workspace-byte-alignment": (is_alignment, "a power of two (bytes)"),
    "constant-byte-alignment": (is_alignment, "a power of two (bytes)"),
    "interface-api": (lambda value: value in INTERFACE_APIS, '"c" or "packed"'),
    "unpacked-api": (_is_truth, "true or false"),
    "link-params": (_is_truth, "true"),
}

_DEFAULTS = {LINK_PARAMS.name: True}
"""Values of options that every AoT executor has."""


@py_class("usmp.Executor", init=False)
class Executor(NamedOptions, FFIObject):
    """The executor that runs a compiled model.

    `executor["interface-api"]` is the value of an option, `"interface-api" in executor` is whether
    the option has a value, and `str(executor)` is the name. Executors of equal name and options are
    equal.

    Parameters
    ----------
    name
        "aot", the only executor: one C function that calls the operators in order.
    options
        TVM's options of that executor: "workspace-byte-alignment" and
        "constant-byte-alignment" (bytes, a power of two, 16 by default), "interface-api" ("c" or
        "packed"), "unpacked-api" (true with "c", false with "packed") and "link-params" (true).

    Raises
    ------
    ValueError
        an unknown executor or option, an invalid value, or contradicting options.
    """

    name: str
    options: dict[str, Any]

    list_registered = GoneAttribute(EXECUTOR)
    list_registered_options = GoneAttribute(EXECUTOR)
    flag_registry_name = GoneAttribute(EXECUTOR)

    def __init__(self, name: str = "aot", options: dict[str, Any] | None = None) -> None:
        if name != "aot":
            row = find(EXECUTOR, f'Executor("{name}")')
            if row is not None:
                raise ValueError(row.sentence())
            raise ValueError(unknown_name(f'unknown executor "{name}"', name, ["aot"], "Executors"))
        for option, value in (options or {}).items():
            if option not in _OPTIONS:
                problem = f'unknown option "{option}" of executor aot'
                raise ValueError(unknown_name(problem, option, sorted(_OPTIONS), "Options"))
            accepts, expected = _OPTIONS[option]
            if not accepts(value):
                raise ValueError(f"option {option} of executor aot must be {expected}, not {value}")
            if option == LINK_PARAMS.name and not value:
                raise ValueError(LINK_PARAMS.sentence(str(value)))
        _check_interface(options or {})
        self.__ffi_init__(name, dict(options or {}))

    def _all_options(self) -> Mapping[str, Any]:
        return {**_DEFAULTS, **super()._all_options()}

    @property
    def is_packed(self) -> bool:
        """Whether the model is called through TVM's packed functions; if not, from C."""
        return str(self.options.get("interface-api", "c")) == "packed"

    @property
    def workspace_byte_alignment(self) -> int:
        """Alignment in bytes of every buffer in a workspace pool."""
        return int(self.options.get("workspace-byte-alignment", DEFAULT_BYTE_ALIGNMENT))

    @property
    def sets_constant_alignment(self) -> bool:
        """Whether the options set the alignment of constants."""
        return "constant-byte-alignment" in self.options

    @property
    def constant_byte_alignment(self) -> int:
        """Alignment in bytes of every constant."""
        return int(self.options.get("constant-byte-alignment", DEFAULT_BYTE_ALIGNMENT))


def _check_interface(options: Mapping[str, Any]) -> None:
    """Raise if "unpacked-api" contradicts "interface-api", by the rules of TVM 0.18."""
    interface = options.get("interface-api", "c")
    is_packed = interface == "packed"
    unpacked = bool(options.get("unpacked-api", not is_packed))
    if is_packed and unpacked:
        raise ValueError(
            f'Need unpacked-api == false (got: {int(unpacked)}) with interface-api == "packed"; '
            "leave unpacked-api out"
        )
    if not is_packed and not unpacked:
        raise ValueError(
            f'Either need interface-api == "packed" (got: {interface}) or unpacked-api == true '
            f"(got: {int(unpacked)}); for functions of C leave unpacked-api out, for packed "
            "functions set interface-api=packed, without runtime crt"
        )


def executor_with(given: str | Executor, options: tuple[tuple[str, object], ...]) -> Executor:
    """Return an executor with the options that the target adds.

    Raises
    ------
    ValueError
        the executor or an option is unknown, or an option contradicts the executor.
    """
    if not isinstance(given, Executor):
        return _executor_named(given, options)
    for name, value in options:
        if given.options.get(name, value) != value:
            raise ValueError(
                f"option {name} is {value} by the target and {given.options[name]} by the "
                "executor; give it to the executor alone"
            )
    return Executor(given.name, {**given.options, **dict(options)}) if options else given


@cache
def _executor_named(name: str, options: tuple[tuple[str, object], ...]) -> Executor:
    """Return the executor, cached because planning sessions compare executors by identity."""
    return Executor(name, dict(options))


def check_workspace_io(executor: Executor, use_workspace_io: bool) -> None:
    """Raise if inputs and outputs are in the workspace of a model with the packed interface.

    The packed interface passes inputs and outputs as tensors, which have their own memory.

    Raises
    ------
    ValueError
        the interface is packed, and `use_workspace_io` is true.
    """
    if executor.is_packed and use_workspace_io:
        raise ValueError(
            "tir.usmp.use_workspace_io option is only compatible with interface_api c. Please use "
            "interface_api c to be able to enable tir.usmp.use_workspace_io"
        )


def executor_of(mod: IRModule) -> Executor:
    """Return the executor of a module, or AoT with default options if the module has none."""
    executor = EXECUTOR_ATTR.of(mod)
    if executor is None:
        return Executor()
    if not isinstance(executor, Executor):
        raise ValueError(
            f'the attribute "{EXECUTOR_ATTR}" of the module must be an Executor, not {executor}'
        )
    return executor
