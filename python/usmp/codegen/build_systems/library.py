"""The facts about an archive that build systems need: its models and the paths of their files.

A model is named by its C prefix, `tvmgen_<module>`, with the module's name in letters, digits and
underscores. No other text of a model is in the files of a build system.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from usmp.plain.model_library_format import ARENA_PATHS

INCLUDE_FOLDER = "codegen/host/include"
SOURCE_FOLDER = "codegen/host/src"
ARENA_HEADER, ARENA_SOURCE = ARENA_PATHS
ARENA = "usmp_arena"
"""Name of the library with the allocator, which models of several archives may share."""

VERSION = "1.0.0"
"""The version in manifests, which require one; a model has no version."""

_LONGEST_NAME = 50
"""Most characters of a library's name, so that every registry permits it."""
_DIGEST_LENGTH = 16
_PREFIX = "tvmgen_"


@dataclass(frozen=True)
class Model:
    """One module of an archive.

    Parameters
    ----------
    prefix
        prefix of its C symbols.
    sources
        paths of its C files.
    objects
        paths of its object files.
    takes_arena
        whether runs allocate in an arena.
    """

    prefix: str
    sources: tuple[str, ...]
    objects: tuple[str, ...]
    takes_arena: bool

    @property
    def header(self) -> str:
        """The name of the header that an application includes."""
        return f"{self.prefix}.h"

    @property
    def linked(self) -> tuple[str, ...]:
        """Paths of the sources and object files."""
        return self.sources + self.objects


@dataclass(frozen=True)
class Library:
    """The models of an archive, in the order of its metadata."""

    models: tuple[Model, ...]

    @property
    def name(self) -> str:
        """The name: the C prefix of the only model, or the joined names of several models."""
        joined = _PREFIX + "_".join(m.prefix.removeprefix(_PREFIX) for m in self.models)
        if len(joined) <= _LONGEST_NAME:
            return joined
        digest = sha256(joined.encode()).hexdigest()[:_DIGEST_LENGTH]
        return f"{joined[: _LONGEST_NAME - _DIGEST_LENGTH - 1]}_{digest}"

    @property
    def sentence(self) -> str:
        """The description in manifests."""
        return "A compiled model" if len(self.models) == 1 else "Compiled models"

    @property
    def takes_arena(self) -> bool:
        """Whether a model needs the allocator."""
        return any(model.takes_arena for model in self.models)

    @property
    def arena_sources(self) -> tuple[str, ...]:
        """Path of the allocator's source; empty if no model needs it."""
        return (ARENA_SOURCE,) if self.takes_arena else ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Paths of all C files."""
        return (*(path for model in self.models for path in model.sources), *self.arena_sources)

    @property
    def objects(self) -> tuple[str, ...]:
        """Paths of all object files."""
        return tuple(path for model in self.models for path in model.objects)


def library_of(modules: Mapping[str, Mapping[str, Any]], files: Mapping[str, bytes]) -> Library:
    """Return the library of an archive with the modules of its metadata and its files."""
    return Library(tuple(_model(module, files) for module in modules.values()))


def _model(module: Mapping[str, Any], files: Mapping[str, bytes]) -> Model:
    prefix = module["c_prefix"]
    name = re.escape(prefix.removeprefix(_PREFIX))
    mains = module["memory"]["functions"]["main"]
    return Model(
        prefix,
        _matching(rf"{SOURCE_FOLDER}/{name}_lib(\d+)\.c", files),
        _matching(rf"codegen/host/lib/{name}_lib(\d+)\.o", files),
        any(main.get("takes_arena", False) for main in mains),
    )


def _matching(pattern: str, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the paths that match, sorted by their number."""
    matches = {path: match for path in files if (match := re.fullmatch(pattern, path))}
    return tuple(sorted(matches, key=lambda path: int(matches[path][1])))
