"""An archive as a Zephyr module, with a Kconfig option for each model.

Zephyr links whole libraries, so the allocator must be in only one of them.
"""

from __future__ import annotations

from usmp.codegen.build_systems.cmake import cmake_list
from usmp.codegen.build_systems.library import (
    ARENA,
    ARENA_SOURCE,
    INCLUDE_FOLDER,
    Library,
    Model,
)

_ROOT = "${CMAKE_CURRENT_SOURCE_DIR}/../"


def zephyr_files(library: Library) -> dict[str, str]:
    """Return the files of the folder `zephyr`."""
    return {
        "zephyr/module.yml": _MODULE.format(name=library.name),
        "zephyr/CMakeLists.txt": "\n".join(_libraries(library)),
        "zephyr/Kconfig": "\n".join(map(_option, library.models)),
    }


_MODULE = """\
name: {name}
build:
  cmake: zephyr
  kconfig: zephyr/Kconfig
"""


def _libraries(library: Library) -> list[str]:
    return [f"# {library.sentence}: a library for each option.\n", *map(_model, library.models)]


def _model(model: Model) -> str:
    return f"""\
if(CONFIG_{model.prefix.upper()})
  zephyr_include_directories("{_ROOT}{INCLUDE_FOLDER}")
{_arena() if model.takes_arena else ""}\
  zephyr_library_named({model.prefix})
  zephyr_library_sources(
{cmake_list(model.linked, _ROOT, indent="    ")})
endif()
"""


def _arena() -> str:
    return f"""\
  if(NOT TARGET {ARENA})
    zephyr_library_named({ARENA})
    zephyr_library_sources("{_ROOT}{ARENA_SOURCE}")
  endif()
"""


def _option(model: Model) -> str:
    return f"""\
config {model.prefix.upper()}
\tbool "Compiled model {model.prefix}"
\tdefault y
\thelp
\t  Link the model whose functions begin with {model.prefix}.
"""
