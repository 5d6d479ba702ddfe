"""The input of `usmp-opt`: TVMScript, or a model.

TVMScript is Python and runs as it is read. Models never run code.
"""

from __future__ import annotations

import argparse
import linecache
import re
import sys
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

import tvm
from tvm.ir import IRModule
from tvm.script.parser import ir, relax, tirx

import usmp
from usmp.driver.errors import UsageError
from usmp.driver.options.import_options import import_arguments
from usmp.frontend.model_file import ENDINGS

_DIAGNOSTIC = re.compile(r"error: (.*)\n --> .*:(\d+):\d+")
"""Message of TVM's parser, with its line."""
_SEPARATOR = re.compile(r"^# -----[ \t]*\n", re.MULTILINE)


def read_modules(options: argparse.Namespace) -> list[IRModule]:
    """Read the modules of a file in order.

    Raises
    ------
    UsageError
        the ending is unknown, the file is not UTF-8, or a part between separators does not have
        exactly one module.
    UnsupportedModelError
        the model cannot be imported.
    """
    path = options.FILE
    ending = Path(path).suffix.lower()
    if ending in ENDINGS:
        return [usmp.import_model(path, **import_arguments(options))]
    if path != "-" and ending != ".py":
        raise UsageError(
            f'{path}: unknown ending "{ending}"; TVMScript, which runs as Python, is read from .py '
            f"files and from stdin, models are {', '.join(ENDINGS)}"
        )
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: neither TVMScript (text in UTF-8) nor a model ({', '.join(ENDINGS)})"
        ) from error
    name = "<stdin>" if path == "-" else str(path)
    parts = _SEPARATOR.split(text) if options.split_input_file else [text]
    modules, line = [], 0
    for part in parts:
        if part.strip():
            # Keep the line numbers of the file in errors.
            modules.append(_module_of("\n" * line + part, name))
        line += part.count("\n") + 1
    if not modules:
        raise UsageError(f"{name}: is empty; write a class with @I.ir_module")
    return modules


def _module_of(text: str, name: str) -> IRModule:
    """Run TVMScript, and return the module of its class, or a module of its functions."""
    # TVM's parser reads the source of a class or function from `linecache`, by its file name.
    file = f"<{name.strip('<>')}>"
    lines = text.splitlines(keepends=True)
    linecache.cache[file] = (len(text), None, lines, file)
    scope = ModuleType("usmp_opt_input")
    scope.__file__ = file
    known = {"tvm": tvm, "usmp": usmp, "I": ir, "T": tirx, "R": relax}
    vars(scope).update(known)
    previous, sys.modules[scope.__name__] = sys.modules.get(scope.__name__), scope
    try:
        exec(compile(text, file, "exec"), vars(scope))
    except Exception as error:
        raise UsageError(f"{name}{_located_message(error, file)}") from error
    finally:
        del sys.modules[scope.__name__]
        if previous is not None:
            sys.modules[scope.__name__] = previous
    definitions = {key: value for key, value in vars(scope).items() if key not in known}
    return _only_module(definitions, name)


def _located_message(error: Exception, file: str) -> str:
    """Return the line of an error, and its message."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}: {error.msg}"
    match = _DIAGNOSTIC.match(str(error))
    if match is not None:
        return f", line {match[2]}: {match[1]}"
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    where = f", line {lines[-1]}" if lines else ""
    return f"{where}: {type(error).__name__}: {error}"


def _only_module(definitions: dict[str, Any], name: str) -> IRModule:
    modules = [value for value in definitions.values() if isinstance(value, IRModule)]
    functions = {
        key: value
        for key, value in definitions.items()
        if isinstance(value, tvm.tirx.PrimFunc | tvm.relax.Function)
    }
    if len(modules) > 1:
        raise UsageError(
            f'{name}: has {len(modules)} modules; put a line "# -----" between them, and give '
            "--split-input-file"
        )
    if modules:
        return modules[0]
    if not functions:
        raise UsageError(f"{name}: makes no module; write a class with @I.ir_module")
    return IRModule(functions)
