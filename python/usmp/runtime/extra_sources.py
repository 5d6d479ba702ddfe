"""C files of the user that a model needs: the functions of its accelerators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from usmp.runtime.c_compiler import DEFAULT_FLAGS, BuildError, compile_c


def check_sources(metadata: Mapping[str, Any], sources: Sequence[str | Path]) -> None:
    """Return if there are no functions of accelerators, or sources that may define them.

    Raises
    ------
    BuildError: there are functions, but no sources.
    """
    symbols = [function["symbol"] for function in metadata.get("accelerator_functions", [])]
    if symbols and not sources:
        raise BuildError(
            f"the model calls {', '.join(symbols)} of accelerators "
            f"({', '.join(metadata['devices'])}); give the C file that defines them "
            "(tvmc run --extra-source FILE.c, or load(sources=[...]) in Python)"
        )


def compile_sources(
    sources: Sequence[str | Path],
    files: Mapping[str, bytes],
    directory: Path,
    flags: Sequence[str] = DEFAULT_FLAGS,
) -> list[Path]:
    """Compile C files of the user, which may include the archive's headers, into object files.

    Raises
    ------
    BuildError: a file is missing, or the compiler reports an error.
    """
    include = directory / "codegen/host/include"
    include.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if name.endswith(".h"):
            (include / Path(name).name).write_bytes(content)
    objects = []
    for index, source in enumerate(sources):
        if not Path(source).is_file():
            raise BuildError(f"{source}: no such file")
        objects.append(directory / f"source{index}.o")
        options = ["-std=c99", *flags, "-fPIC", f"-I{include}", "-c", str(source)]
        compile_c(options, objects[-1])
    return objects
