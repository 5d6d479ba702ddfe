"""An archive as an Arduino library, whose sources and headers must be in `src`.

The files of the Model Library Format keep their places, so `src` has an added file for each, which
includes it. The added sources are empty except for Arduino, because another project may compile all
sources of the archive.
"""

from __future__ import annotations

from usmp.codegen.build_systems.library import (
    ARENA_HEADER,
    INCLUDE_FOLDER,
    VERSION,
    Library,
)


def arduino_files(library: Library) -> dict[str, str]:
    """Return library.properties and the files in `src`; none if there are object files, which
    cannot be in `src`."""
    if library.objects:
        return {}
    headers = [f"{INCLUDE_FOLDER}/{model.header}" for model in library.models]
    arena = [ARENA_HEADER] if library.takes_arena else []
    return {
        "library.properties": _properties(library),
        **{_in_src(path): f'#include "../{path}"\n' for path in (*headers, *arena)},
        **{_in_src(path): _SOURCE.format(path=path) for path in library.sources},
    }


def _in_src(path: str) -> str:
    return f"src/{path.rpartition('/')[2]}"


_SOURCE = """\
/* Arduino compiles what is in this folder. For others this file is empty. */
#include <stdint.h>
#ifdef ARDUINO
#include "../{path}"
#endif
"""


def _properties(library: Library) -> str:
    fields = {
        "name": library.name,
        "version": VERSION,
        "author": "usmp",
        "maintainer": "usmp",
        "sentence": f"{library.sentence}, as C with its memory planned.",
        "paragraph": "The header says which functions it has.",
        "category": "Data Processing",
        "url": "https://tvm.apache.org",
        "architectures": "*",
        "includes": ",".join(model.header for model in library.models),
        # Link as .a files, so that one allocator is linked even if several archives contain it.
        "dot_a_linkage": "true",
    }
    return "".join(f"{name}={value}\n" for name, value in fields.items())
