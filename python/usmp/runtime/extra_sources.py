"""C files of the user with functions that a model calls, such as those of accelerators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from usmp.names import WORKSPACE_FUNCTIONS
from usmp.runtime.c_compiler import DEFAULT_FLAGS, BuildError, compile_c
from usmp.support.text.plain_text import printable


def check_sources(metadata: Mapping[str, Any], sources: Sequence[str | Path]) -> None:
    """Raise BuildError if the model calls functions of the user, but there are no sources."""
    symbols = [function["symbol"] for function in metadata.get("accelerator_functions", [])]
    if symbols and not sources:
        raise BuildError(
            f"the model calls {', '.join(symbols)} of accelerators "
            f"({', '.join(metadata['devices'])}); give the C file that defines them "
            "(tvmc run --extra-source FILE.c, or load(sources=[...]) in Python)"
        )
    allocations = metadata["memory"].get("dynamic_allocations", {})
    if allocations.get("allocator") == WORKSPACE_FUNCTIONS and not sources:
        raise BuildError(
            "the model calls TVMBackendAllocWorkspace and TVMBackendFreeWorkspace of TVM's "
            "runtime; give a C file that defines them (tvmc run --extra-source FILE.c, or "
            "load(sources=[...]) in Python)"
        )


def include_sources(sources: Sequence[str | Path], project: Path) -> None:
    """Add C files of the user to a board's project by `#include`, so that they find their headers.

    Raises
    ------
    BuildError
        a file is missing, or its path cannot be written in C.
    """
    for index, source in enumerate(sources):
        # Include the file, because make does not support paths with blanks.
        including = f'#include "{_include_path(_existing(source).resolve())}"\n'
        (project / f"extra_source_{index}.c").write_text(including)


def _include_path(path: Path) -> str:
    """Return a path for `#include "..."`, which has no escapes."""
    text = str(path)
    if '"' in text or "??" in text or not text.isprintable():
        raise BuildError(
            f"{printable(text)}: a path with quotation marks, two question marks or control "
            "characters cannot be included in C; rename the file or its folder"
        )
    return text


def compile_sources(
    sources: Sequence[str | Path],
    include: Path,
    directory: Path,
    flags: Sequence[str] = DEFAULT_FLAGS,
) -> list[Path]:
    """Compile C files of the user into object files in `directory`.

    `include` is the folder of the archive's headers.

    Raises
    ------
    BuildError
        a file is missing, or the compiler reports an error.
    """
    objects = []
    for index, source in enumerate(sources):
        path = _existing(source)
        objects.append(directory / f"source{index}.o")
        options = ["-std=c99", *flags, "-fPIC", f"-I{include}", "-c", str(path.absolute())]
        compile_c(options, objects[-1])
    return objects


def _existing(source: str | Path) -> Path:
    if not Path(source).is_file():
        raise BuildError(f"{source}: no such file")
    return Path(source)
