"""The manifest of an archive as a PlatformIO library, with the folders of its files."""

from __future__ import annotations

import json

from usmp.codegen.build_systems.library import INCLUDE_FOLDER, SOURCE_FOLDER, VERSION, Library


def platformio_files(library: Library) -> dict[str, str]:
    """Return library.json, or none if there are object files, which it cannot name."""
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
