"""Accelerators in the header: declarations of their functions, and the struct of handles."""

from __future__ import annotations

import json

from usmp.codegen.c.text import comment, quoted
from usmp.codegen.c.types import c_type
from usmp.codegen.interface.accelerator_functions import DEVICE, parameter_names
from usmp.codegen.interface.module_interface import Interface
from usmp.objects.attributes.attribute import plain
from usmp.ops.accelerator_function import (
    AcceleratorFunction,
    AcceleratorOperator,
    AcceleratorParameter,
)

_LINE_LENGTH = 96


def accelerator_parts(interface: Interface) -> list[tuple[str, str]]:
    """Return comment and code of the struct of handles and of each function; none without
    accelerators."""
    if not interface.devices:
        return []
    members = "".join(f"  void* {device};\n" for device in interface.devices)
    module = quoted(interface.module_name)
    text = comment(
        f"Handles of the accelerators of TVM module {module}, passed to their",
        "functions as they are",
    )
    struct = f"struct {interface.prefix}_devices {{\n{members}}};"
    return [(text, struct), *(_declaration(f) for f in interface.accelerator_functions)]


def devices_parameter(interface: Interface) -> list[str]:
    """Return the last parameter of an entry point, which passes the handles, if there are any."""
    return [f"struct {interface.prefix}_devices* devices"] if interface.devices else []


def _declaration(function: AcceleratorFunction) -> tuple[str, str]:
    """Return the comment and the declaration of a function."""
    names = parameter_names(function)
    lines = [
        f"To be defined by the application, for {function.accelerator}. Returns 0; anything else",
        "ends the run, which returns it.",
    ]
    if not function.can_fail:
        lines = [f"To be defined by the application, for {function.accelerator}. It cannot fail."]
    result = "int32_t" if function.can_fail else "void"
    if function.composite:
        lines.append(f"Pattern: {function.composite}")
    renamed = dict(zip((str(p.name) for p in function.parameters), names, strict=True))
    lines += [_operator(operator, renamed) for operator in function.operators]
    params = [
        (name, _description(name, parameter))
        for name, parameter in zip(names, function.parameters, strict=True)
    ]
    params.append((DEVICE, "its handle in the struct of devices"))
    types = [*(_pointer(parameter) for parameter in function.parameters), "void*"]
    declared = [f"{t} {n}" for t, n in zip(types, [*names, DEVICE], strict=True)]
    text = f"{result} {function.symbol}({', '.join(declared)});"
    if len(text) > _LINE_LENGTH:
        text = f"{result} {function.symbol}(\n    " + ",\n    ".join(declared) + ");"
    return comment(*lines, params=params), text


def _pointer(parameter: AcceleratorParameter) -> str:
    const = "const " if parameter.is_read_only else ""
    return f"{const}{c_type(str(parameter.dtype))}*"


def _description(name: str, parameter: AcceleratorParameter) -> str:
    role = str(parameter.role)
    shape = "".join(f"[{int(extent)}]" for extent in parameter.shape)
    return f"{parameter.dtype}{shape}" + (f", {role}" if not name.startswith(role) else "")


def _operator(operator: AcceleratorOperator, names: dict[str, str]) -> str:
    arguments = [names.get(str(a), str(a)) for a in operator.arguments]
    results = [names.get(str(r), str(r)) for r in operator.results]
    arguments += [
        f"{name}={json.dumps(plain(value))}" for name, value in operator.attributes.items()
    ]
    return f"{', '.join(results)} = {operator.name}({', '.join(arguments)})"
