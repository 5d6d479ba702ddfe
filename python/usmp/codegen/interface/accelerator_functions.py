"""The functions that a module calls and the application defines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm import tirx
from tvm.ir import IRModule

from usmp.codegen.c.names import Scope, sanitise_all
from usmp.objects.operator_attributes import ACCELERATOR_FUNCTION_ATTR
from usmp.ops.accelerator_function import AcceleratorFunction

DEVICE = "device"
"""The last parameter of each of them."""


def accelerator_functions(mod: IRModule) -> list[AcceleratorFunction]:
    """The functions that the module calls and the application defines, by accelerator and number.

    Raises
    ------
    ValueError
        two of them have one symbol.
    """
    found = [
        ACCELERATOR_FUNCTION_ATTR.required(func)
        for func in mod.functions.values()
        if isinstance(func, tirx.PrimFunc) and ACCELERATOR_FUNCTION_ATTR.is_on(func)
    ]
    by_symbol = {str(function.symbol): function for function in found}
    if len(by_symbol) < len(found):
        symbols = [str(function.symbol) for function in found]
        twice = next(symbol for symbol in symbols if symbols.count(symbol) > 1)
        raise ValueError(f"two functions of accelerators are both {twice} in C; rename a target")
    return sorted(found, key=lambda f: (str(f.accelerator), int(f.index), str(f.symbol)))


def device_names(functions: Sequence[AcceleratorFunction]) -> list[str]:
    """The members of the struct of devices.

    Raises
    ------
    ValueError
        two accelerators become the same C identifier.
    """
    return sanitise_all(sorted({str(f.accelerator) for f in functions}), "target")


def parameter_names(function: AcceleratorFunction) -> list[str]:
    """The names of its tensors in C."""
    scope = Scope([DEVICE])
    return [scope.unique(str(parameter.name)) for parameter in function.parameters]


def plain(value: Any) -> Any:
    """A value of TVM's containers as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value if not isinstance(value, str) else str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(element) for name, element in value.items()}
    return [plain(element) for element in value]


def function_metadata(function: AcceleratorFunction) -> dict[str, Any]:
    """What the archive's metadata says of a function, for programs that write its C."""
    return {
        "symbol": str(function.symbol),
        "target": str(function.accelerator),
        "pattern": str(function.composite),
        "parameters": [
            {
                "name": name,
                "role": str(parameter.role),
                "dtype": str(parameter.dtype),
                "shape": [int(extent) for extent in parameter.shape],
            }
            for name, parameter in zip(parameter_names(function), function.parameters, strict=True)
        ],
        "operators": [
            {
                "name": str(operator.name),
                "arguments": [str(argument) for argument in operator.arguments],
                "results": [str(result) for result in operator.results],
                "attributes": plain(operator.attributes),
                **({"quantization": plain(operator.quantization)} if operator.quantization else {}),
            }
            for operator in function.operators
        ],
    }
