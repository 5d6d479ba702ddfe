"""Measurements of a built model: RAM, flash and instructions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from usmp.algorithms.search import TIME
from usmp.boards.core_compilers import module_compiler
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.exploration.result import BUILT, COMPILED, ESTIMATED, NOT_LINKED, UNKNOWN, Result
from usmp.runtime import BuildError
from usmp.runtime.code_size import OPTIMIZATION, CompiledCode, compiled_code
from usmp.runtime.programs import run_program
from usmp.support.text.plain_text import shown

_known: dict[str, CompiledCode | str] = {}
"""Hash of compiler and input -> the compiled code, or the reason that it is unknown. A cache,
because configurations often differ only in options that do not change the C code."""

_LONGEST_REASON = 300


def measure(factory: AOTExecutorFactoryModule) -> Result:
    """Return the RAM and flash of a model, and the approximate instructions of a run."""
    metadata = factory.metadata["modules"][factory.module_name]
    code_bytes, code, compiler, code_reason = _code(factory.files(), metadata)
    return replace(
        planned_result(metadata),
        code_bytes=code_bytes,
        code=code,
        compiler=compiler,
        code_reason=code_reason,
    )


def planned_result(metadata: Mapping[str, Any]) -> Result:
    """Return the figures of a plan: those of `measure`, but without code.

    Parameters
    ----------
    metadata
        metadata of a module.
    """
    memory, operators = metadata["memory"], metadata["operators"]
    known = [count for count in map(_instructions, operators) if count is not None]
    macs = [operator.get("macs") for operator in operators]
    ended_by = memory.get("search_ended_by")
    return Result(
        BUILT,
        workspace_bytes=memory["ram"]["workspace_size_bytes"],
        io_bytes=memory["ram"]["io_size_bytes"],
        state_bytes=memory["ram"]["state_size_bytes"],
        constant_bytes=sum(
            pool["size_bytes"] for pool in memory["pools"] if pool["kind"] == "constant"
        ),
        instructions=sum(known) if known else None,
        operators=len(operators),
        estimated_operators=len(known),
        shared_code=metadata.get("shared_code"),
        macs=None if None in macs else sum(macs),
        algorithm=memory["algorithm"],
        is_optimal=ended_by != TIME and all(pool["optimal"] for pool in memory["pools"]),
        search_ended_by=ended_by,
    )


def _instructions(operator: Mapping[str, Any]) -> int | None:
    """Return the instructions that the schedules of an operator take; None if none are known."""
    known = [
        schedule["instructions"]
        for schedule in operator.get("schedules", ())
        if "instructions" in schedule
    ]
    return sum(known) if known else None


def _code(
    files: Mapping[str, bytes], metadata: Mapping[str, Any]
) -> tuple[int | None, str, str | None, str | None]:
    """Return code bytes, one of `CODE_KINDS`, the compiler, and why bytes are unknown or partial.

    For a core or a board, its compiler must be installed. Portable C is for any core, so the
    compiler of this host gives an estimate.
    """
    cross = module_compiler(metadata)
    host = os.environ.get("CC", "").split() or ["cc"]
    program = host[0] if cross is None else cross.program
    version = _version(program)
    own = sorted((name, text) for name, text in files.items() if name.startswith("codegen/"))
    key = (own, metadata.get("target"), cross or host, version)
    digest = hashlib.sha256(repr(key).encode()).hexdigest()
    if digest not in _known:
        try:
            _known[digest] = compiled_code(files, metadata, cross)
        except BuildError as error:
            _known[digest] = shown(error, _LONGEST_REASON)
    code = _known[digest]
    if isinstance(code, str):
        return None, UNKNOWN, None, code
    if code.not_linked is not None:
        return code.size_bytes, NOT_LINKED, code.compiler, shown(code.not_linked, _LONGEST_REASON)
    if code.is_of_llvm:
        return code.size_bytes, COMPILED, code.compiler, None
    kind = ESTIMATED if cross is None else COMPILED
    return code.size_bytes, kind, f"{version or program}, {OPTIMIZATION}", None


@cache
def _version(compiler: str) -> str | None:
    """Return the name and version of a compiler; None if it is not installed."""
    try:
        done = run_program([compiler, "-dumpfullversion", "-dumpversion"])
    except OSError:
        return None
    words = done.stdout.split()
    if done.returncode or not words:
        return None
    return f"{Path(compiler).name} {words[0]}"
