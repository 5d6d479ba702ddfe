"""Merging of archives into one archive in the Model Library Format."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from usmp.codegen.build_systems.build_system_files import build_system_files
from usmp.codegen.model_library_format import metadata_bytes
from usmp.plain.entry_names import c_prefix_of_entry
from usmp.plain.model_library_format import METADATA_FILE

_UNIQUE = "Multiple modules should have unique names."
"""The error message of TVM 0.18."""


def merge_archives(archives: Sequence[Mapping[str, bytes]]) -> dict[str, bytes]:
    """Return the files of one archive with the modules of several archives; path -> content.

    The modules can be linked into one program, because files, C symbols and macros are unique.

    Raises
    ------
    ValueError
        there are no archives, or two modules share a name, a C prefix, a function of an
        accelerator, a macro or a file.
    """
    if not archives:
        raise ValueError("there are no modules to export; give at least one")
    contents = [json.loads(files[METADATA_FILE]) for files in archives]
    modules = [item for content in contents for item in content["modules"].items()]
    _check_names(modules)
    _check_functions(modules)
    merged: dict[str, bytes] = {}
    owners: dict[str, str] = {}
    for content, files in zip(contents, archives, strict=True):
        name = next(iter(content["modules"]))
        replaced = {METADATA_FILE, *build_system_files(files)}
        for path, data in files.items():
            if path not in replaced and merged.setdefault(path, data) != data:
                raise ValueError(
                    f'the modules "{owners[path]}" and "{name}" both have a file {path}; '
                    "export one of them to an archive of its own"
                )
            owners.setdefault(path, name)
    _check_macros(modules, merged)
    merged = {METADATA_FILE: metadata_bytes({**contents[0], "modules": dict(modules)}), **merged}
    return merged | build_system_files(merged)


def _check_names(modules: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Check that module names are unique, and C prefixes too, even in capitals, because macros
    begin with them. Entry "b" of module "a" has the prefix of module "a_b"."""
    names: dict[str, str] = {}
    for number, (name, module) in enumerate(modules):
        if name in (other for other, _ in modules[:number]):
            raise ValueError(f'{_UNIQUE} Two are called "{name}"; build one with another name')
        for prefix in _prefixes(module):
            other = names.setdefault(prefix.upper(), name)
            if other != name:
                raise ValueError(
                    f'{_UNIQUE} The macros of "{other}" and of "{name}" both begin with '
                    f"{prefix.upper()}_; build one with another name"
                )


def _prefixes(module: Mapping[str, Any]) -> list[str]:
    """Return the C prefixes of a module and of its entries."""
    prefix = module["c_prefix"]
    entries = [main["entry"] for main in module["memory"]["functions"]["main"]]
    return [prefix, *(c_prefix_of_entry(prefix, entry, entries) for entry in entries)]


def _check_functions(modules: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Check that symbols of accelerator functions are unique: accelerator "b_npu" of module "a" and
    accelerator "npu" of module "a_b" have the same symbol."""
    owners: dict[str, str] = {}
    for name, module in modules:
        for function in module.get("accelerator_functions", []):
            other = owners.setdefault(function["symbol"], name)
            if other != name:
                raise ValueError(
                    f'the modules "{other}" and "{name}" both need a function '
                    f"{function['symbol']}; build one with another name"
                )


def _check_macros(
    modules: Sequence[tuple[str, Mapping[str, Any]]], files: Mapping[str, bytes]
) -> None:
    """Check that macros with one name have equal values: tensor "b_x" of module "a" and tensor "x"
    of module "a_b" have such macros."""
    defined: dict[str, tuple[str, list[str]]] = {}
    for name, module in modules:
        header = files[f"codegen/host/include/{module['c_prefix']}.h"].decode()
        for macro, values in _macros(header, f"{module['c_prefix'].upper()}_").items():
            other, before = defined.setdefault(macro, (name, values))
            if before != values:
                raise ValueError(
                    f'the headers of the modules "{other}" and "{name}" both define {macro}; '
                    "build one with another name"
                )


def _macros(header: str, prefix: str) -> dict[str, list[str]]:
    """Return the values of each macro whose name begins with `prefix`."""
    macros: dict[str, list[str]] = {}
    lines = header.replace("\\\n", " ")
    for macro, value in re.findall(rf"^#define ({prefix}\w+)(.*)$", lines, re.MULTILINE):
        macros.setdefault(macro, []).append(value)
    return macros
