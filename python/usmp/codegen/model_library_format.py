"""The Model Library Format: sources, header, metadata and planned TIR in one tar file.

The layout is TVM 0.18's (format version 7), with the memory plan added under `memory.pools`;
`docs/model-library-format.md` explains each key. The archive contains no times and no names of
machines, so that a model always gives the same bytes. It has no `parameters/`, which TVM left empty
with linked parameters: constants are in the sources, or in the header for external pools.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tvm.ir import IRModule

from usmp.codegen.c.names import replace_forbidden
from usmp.codegen.c.source_files import file_of
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.metadata import metadata
from usmp.codegen.tir_text import tir_text
from usmp.codegen.write_file import write_file
from usmp.plain.model_library_format import ARENA_PATHS, METADATA_FILE


def archive_files(
    mod: IRModule,
    interface: Interface,
    header: str,
    sources: Sequence[str],
    object_file: bytes | None = None,
) -> dict[str, bytes]:
    """Return the files of the archive, with the operators' object file if there is one;
    path -> content."""
    name = replace_forbidden(interface.module_name)
    objects = {}
    if object_file is not None:
        objects[f"codegen/host/lib/{name}_lib{len(sources)}.o"] = object_file
    return {
        METADATA_FILE: metadata_bytes(metadata(mod, interface)),
        f"codegen/host/include/{interface.prefix}.h": header.encode(),
        **{
            f"codegen/host/src/{name}_lib{number}.c": source.encode()
            for number, source in enumerate(sources)
        },
        **objects,
        **(arena_files() if interface.takes_arena else {}),
        f"src/{name}.tir": tir_text(mod).encode(),
    }


def arena_files() -> dict[str, bytes]:
    """Return the files of the allocator, which are equal for all models that take an arena."""
    return {path: file_of(f"arena/{path.rpartition('/')[2]}").encode() for path in ARENA_PATHS}


def metadata_bytes(content: dict[str, Any]) -> bytes:
    """Return metadata.json as in the archive."""
    return (json.dumps(content, indent=2) + "\n").encode()


def write_archive(files: dict[str, bytes], path: str | Path) -> None:
    """Write the files as a tar at `path`, completely or not at all.

    Raises
    ------
    OSError
        the file cannot be written.
    """
    write_file(path, tar_of(files))


def tar_of(files: Mapping[str, bytes]) -> bytes:
    """Return the files as a tar, without times and owners."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(data)
            entry.mode = 0o644
            tar.addfile(entry, io.BytesIO(data))
    return content.getvalue()
