"""PlatformIO: the manifest of a library, which names the folders of its files."""

from __future__ import annotations

import json

from usmp.codegen.build_systems.library import INCLUDE_FOLDER, SOURCE_FOLDER, VERSION, Library


def platformio_files(library: Library) -> dict[str, str]:
    """library.json; nothing if object files are linked, which it cannot name."""
    if library.objects:
        return {}
    content = {
        "name": library.name,
        "version": VERSION,
        "description": f"{library.sentence}, as C with its memory planned.",
        "keywords": ["inference", "tvm"],
        "headers": [model.header for model in library.models],
        "frameworks": "*",
        "platforms": "*",
        "build": {"srcDir": SOURCE_FOLDER, "includeDir": INCLUDE_FOLDER},
    }
    return {"library.json": json.dumps(content, indent=2) + "\n"}
