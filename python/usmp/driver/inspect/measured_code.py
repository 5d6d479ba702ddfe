"""Measure the compiled size of a module in an archive, for `tvmc diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usmp.driver.without_torch import without_torch
from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    from usmp.report.diff.build_facts import Code
    from usmp.runtime import Archive


def source_bytes(archive: Archive, name: str) -> int:
    """Return the total size of the C files of a module, in bytes."""
    files = archive.code(name)
    return sum(len(content) for path, content in files.items() if path.endswith(".c"))


def module_code(archive: Archive, name: str) -> Code | str:
    """Compile a module for its board, core or this host; return its code or why it failed."""
    from usmp.boards.core_compilers import module_compiler
    from usmp.report.diff.build_facts import Code
    from usmp.runtime import BuildError
    from usmp.runtime.code_size import compiled_code

    metadata = archive.module(name).metadata
    try:
        with without_torch():
            code = compiled_code(archive.code(name), metadata, module_compiler(metadata))
    except BuildError as error:
        return shown(error, 300)
    estimate = "" if code.not_linked is None else " (not linked, an estimate)"
    return Code(f"{code.compiler}{estimate}", code.size_bytes, dict(code.functions))
