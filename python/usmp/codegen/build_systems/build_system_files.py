"""The files that make an archive a library in the user's own project."""

from __future__ import annotations

import json
from collections.abc import Mapping

from usmp.codegen.build_systems.arduino import arduino_files
from usmp.codegen.build_systems.cmake import cmake_files
from usmp.codegen.build_systems.esp_idf import esp_idf_files
from usmp.codegen.build_systems.library import library_of
from usmp.codegen.build_systems.platformio import platformio_files
from usmp.codegen.build_systems.zephyr import zephyr_files
from usmp.plain.model_library_format import METADATA_FILE


def build_system_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files for CMake, Zephyr, ESP-IDF, Arduino and PlatformIO; path -> content.

    The result is empty if any model is for a board, because the linker script of the board's
    project places the pools. It is also empty if any model has the packed interface, because TVM's
    runtime calls that interface.
    """
    modules = json.loads(files[METADATA_FILE])["modules"]
    if any("board" in m or m.get("interface_api") == "packed" for m in modules.values()):
        return {}
    library = library_of(modules, files)
    texts = (
        cmake_files(library)
        | zephyr_files(library)
        | esp_idf_files(library)
        | arduino_files(library)
        | platformio_files(library)
    )
    return {path: text.encode() for path, text in texts.items()}
