"""Select the compiler for the core of a target or a board, to measure code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from usmp.boards.board import ARM_TOOLCHAIN, BOARDS, RISCV_TOOLCHAIN, Toolchain
from usmp.names import CORES, RISCV_CORES
from usmp.runtime.code_size import CrossCompiler

_FPU_CORES = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "cortex-m85")
"""Cores that usually have an FPU."""


def core_compiler(core: str) -> CrossCompiler | None:
    """Return the compiler for a core such as "cortex-m33+nodsp", or None if none is known."""
    name, *lacking = core.split("+")
    if name in CORES:
        has_fpu = name in _FPU_CORES and not {"nofp", "nofp.dp"} & set(lacking)
        flags = (f"-mcpu={core}", "-mthumb", *(["-mfloat-abi=hard"] if has_fpu else []))
        return _cross(ARM_TOOLCHAIN, flags)
    if core in RISCV_CORES:
        abi = "ilp32f" if "f" in core else "ilp32"
        return _cross(RISCV_TOOLCHAIN, (f"-march={core}", f"-mabi={abi}"))
    return None


def module_compiler(metadata: Mapping[str, Any]) -> CrossCompiler | None:
    """Return the compiler for an archived module's board or core, or None if none is known.

    Parameters
    ----------
    metadata
        metadata of the module.
    """
    for board in BOARDS:
        if board.name == metadata.get("board"):
            return _cross(board.toolchain, board.cpu_flags)
    core = module_core(metadata)
    return core_compiler(core) if core else None


def module_core(metadata: Mapping[str, Any]) -> str:
    """Return the core that the targets of an archived module name, or ""."""
    targets = metadata.get("target")
    cores = (
        re.search(r"-mcpu=([a-z0-9.+-]+)", str(target))
        for target in (targets if isinstance(targets, list) else [])
    )
    return next((core[1] for core in cores if core is not None), "")


def _cross(toolchain: Toolchain, flags: tuple[str, ...]) -> CrossCompiler:
    return CrossCompiler(toolchain.compiler, (*flags, *toolchain.options))
