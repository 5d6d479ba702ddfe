"""Functions for accelerators, which the module calls and the application defines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import tirx
from tvm.ir import IRModule

from usmp.codegen.c.names import Scope, sanitise_all
from usmp.objects.attributes.attribute import plain
from usmp.objects.attributes.operator_attributes import ACCELERATOR_FUNCTION_ATTR
from usmp.ops.accelerator_function import AcceleratorFunction

DEVICE = "device"
"""Name of the last parameter of each function for an accelerator."""


def accelerator_functions(mod: IRModule) -> list[AcceleratorFunction]:
    """Return the accelerator functions that a module calls, ordered by accelerator and index.

    Raises
    ------
    ValueError
        two functions have the same symbol.
    """
    functions = [
        ACCELERATOR_FUNCTION_ATTR.required(func)
        for func in mod.functions.values()
        if isinstance(func, tirx.PrimFunc) and ACCELERATOR_FUNCTION_ATTR.is_on(func)
    ]
    by_symbol = {str(function.symbol): function for function in functions}
    if len(by_symbol) < len(functions):
        symbols = [str(function.symbol) for function in functions]
        twice = next(symbol for symbol in symbols if symbols.count(symbol) > 1)
        raise ValueError(f"two functions of accelerators are both {twice} in C; rename a target")
    return sorted(functions, key=lambda f: (str(f.accelerator), int(f.index), str(f.symbol)))


def device_names(functions: Sequence[AcceleratorFunction]) -> list[str]:
    """Return the members of the struct of devices: a handle for each accelerator.

    Raises
    ------
    ValueError
        two accelerators become the same C identifier.
    """
    return sanitise_all(sorted({str(f.accelerator) for f in functions}), "target")


def parameter_names(function: AcceleratorFunction) -> list[str]:
    """Return the C names of the tensors that the function takes."""
    scope = Scope([DEVICE])
    return [scope.unique(str(parameter.name)) for parameter in function.parameters]


def function_metadata(function: AcceleratorFunction) -> dict[str, Any]:
    """Return the metadata of a function, from which programs can generate its C."""
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
