"""The files by which an archive is a library in build systems."""

from __future__ import annotations

CMAKE_FILES = [
    "CMakeLists.txt",
    "idf_component.yml",
    "zephyr/CMakeLists.txt",
    "zephyr/Kconfig",
    "zephyr/module.yml",
]
"""Those that take object files, too."""


def library_files(*names: str) -> list[str]:
    """All of them, of models of these names with one source each, in the order of an archive."""
    forwarding = [path for n in names for path in (f"src/{n}_lib0.c", f"src/tvmgen_{n}.h")]
    return sorted([*CMAKE_FILES, "library.json", "library.properties", *forwarding])
