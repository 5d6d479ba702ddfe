"""The manifest of the ESP-IDF component that CMakeLists.txt registers."""

from __future__ import annotations

from usmp.codegen.build_systems.library import VERSION, Library


def esp_idf_files(library: Library) -> dict[str, str]:
    """Return idf_component.yml."""
    return {"idf_component.yml": _MANIFEST.format(version=VERSION, sentence=library.sentence)}


_MANIFEST = """\
version: "{version}"
description: "{sentence}, as C with its memory planned"
dependencies:
  idf: ">=4.1"
"""
