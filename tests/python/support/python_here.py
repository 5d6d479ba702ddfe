"""Programs and commands, run in this process: one that starts anew loads TVM and PyTorch."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import tvm_ffi
from tvm.relax.backend import _ffi_api
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix

from support.compile_cache import is_compiler, is_started
from support.compilers import run_compiler
from usmp.driver import tvmc
from usmp.relax.accelerators import kernels


@contextlib.contextmanager
def registering() -> Iterator[None]:
    """Take from the registries the algorithms, the patterns and what is stated of patterns that are
    added meanwhile."""
    algorithms, patterns, stated = _algorithms(), _patterns(), dict(kernels._STATEMENTS)
    try:
        yield
    finally:
        for name in _algorithms() - algorithms:
            tvm_ffi.remove_global_func(name)
        _ffi_api.RemovePatterns(sorted(_patterns() - patterns))
        for pattern, facts in dict(kernels._STATEMENTS).items():
            before = stated.get(pattern, kernels.KernelFacts())
            # What is stated again makes sessions forget what they know.
            if facts != before:
                kernels.state_kernel(pattern, **vars(before))


def _algorithms() -> set[str]:
    names = tvm_ffi.registry.list_global_func_names()
    return {name for name in names if name.startswith("tir.usmp.algo.")}


def _patterns() -> set[str]:
    return {str(pattern.name) for pattern in get_patterns_with_prefix("")}


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """As `contextlib.chdir`, which Python 3.10 lacks."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_script(script: Path, *, folder: Path) -> str:
    """What `python script` prints in `folder`; what it imports beside itself is forgotten."""
    before, printed = set(sys.modules), io.StringIO()
    with (
        registering(),
        working_in(folder),
        contextlib.redirect_stdout(printed),
        mock.patch.object(sys, "path", [str(script.parent), *sys.path]),
        mock.patch("subprocess.run", partial(_compiled_once, subprocess.run)),
    ):
        runpy.run_path(str(script), run_name="__main__")
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == script.parent:
            del sys.modules[name]
    return printed.getvalue()


def _compiled_once(run: Callable[..., object], command: Sequence[str], **options: Any) -> object:
    if is_compiler(command[0]) and not is_started():
        return run_compiler(command, cwd=options.get("cwd"))
    return run(command, **options)


def run_python(text: str, folder: Path) -> str:
    """What a program prints in `folder`, as a file: TVMScript reads the source of classes."""
    script = folder / "example.py"
    script.write_text(text)
    return run_script(script, folder=folder)


def run_tvmc(*arguments: object) -> str:
    """What a command of `tvmc` prints, which must succeed without a note."""
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        status = tvmc.main([str(argument) for argument in arguments])
    assert (status, errors.getvalue()) == (0, ""), arguments
    return printed.getvalue()
