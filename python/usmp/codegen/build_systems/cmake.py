"""An archive in CMake: a library for each model, and a single component of ESP-IDF.

ESP-IDF also reads the CMakeLists.txt of a component in CMake's script mode, which does not allow
`project`. So the lines for ESP-IDF come first and end with `return()`. Compile features are private
to the targets, because a C++ project that links them may have no C compiler in CMake.
"""

from __future__ import annotations

from collections.abc import Sequence

from usmp.codegen.build_systems.library import (
    ARENA,
    ARENA_SOURCE,
    INCLUDE_FOLDER,
    Library,
    Model,
)


def cmake_files(library: Library) -> dict[str, str]:
    """Return CMakeLists.txt."""
    return {"CMakeLists.txt": "\n".join([_beginning(library), *_targets(library)])}


def cmake_list(paths: Sequence[str], folder: str = "", indent: str = "  ") -> str:
    """Return the paths below `folder` as quoted lines."""
    return "\n".join(f'{indent}"{folder}{path}"' for path in paths)


def _beginning(library: Library) -> str:
    linked = [path for model in library.models for path in model.linked]
    return f"""\
# {library.sentence}: for CMake a library each, for ESP-IDF a component.
#
#   add_subdirectory(path/to/this/folder)
#   target_link_libraries(application PRIVATE {library.models[0].prefix})
cmake_minimum_required(VERSION 3.10...3.31)

if(ESP_PLATFORM)
  idf_component_register(
    SRCS
{cmake_list([*linked, *library.arena_sources], indent="      ")}
    INCLUDE_DIRS
      "{INCLUDE_FOLDER}")
  return()
endif()

project({library.name} LANGUAGES C)
"""


def _targets(library: Library) -> list[str]:
    arena = [_arena()] if library.takes_arena else []
    return [*arena, *map(_model, library.models)]


def _arena() -> str:
    return f"""\
# Models of several archives share it.
if(NOT TARGET {ARENA})
  add_library({ARENA} STATIC
    "{ARENA_SOURCE}")
  target_include_directories({ARENA} PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}/{INCLUDE_FOLDER}")
  target_compile_features({ARENA} PRIVATE c_std_99)
endif()
"""


def _model(model: Model) -> str:
    prefix = model.prefix
    arena = f"target_link_libraries({prefix} PUBLIC {ARENA})\n" if model.takes_arena else ""
    return f"""\
add_library({prefix} STATIC
{cmake_list(model.linked)})
target_include_directories({prefix} PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}/{INCLUDE_FOLDER}")
target_compile_features({prefix} PRIVATE c_std_99)
{arena}if(NOT MSVC)
  target_link_libraries({prefix} PRIVATE m)
endif()
"""
