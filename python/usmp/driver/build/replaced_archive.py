"""The note of `tvmc compile` when it replaces the archive of another model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from usmp.support.text.plain_text import shown
from usmp.support.text.strict_json import DamagedJSON, parse_json

if TYPE_CHECKING:
    from usmp import AOTExecutorFactoryModule

_KEY = "model_files"
_LARGEST_METADATA_BYTES = 2**23
"""Larger metadata is not parsed, so that the note takes less than a second."""


def archived_model_files(path: str) -> list[str]:
    """Return the names of the model files from which the archive at `path` was compiled.

    The list is empty if there is no archive, if it is damaged or of an earlier version, or if its
    models did not come from files.
    """
    from usmp.plain.model_library_format import METADATA_FILE
    from usmp.runtime.archived.read_tar import file_of_archive

    content = file_of_archive(path, METADATA_FILE, _LARGEST_METADATA_BYTES)
    if content is None or f'"{_KEY}"'.encode() not in content:
        return []
    try:
        modules = parse_json(content, _LARGEST_METADATA_BYTES)["modules"].values()
        names = list(chain.from_iterable(module.get(_KEY, []) for module in modules))
    except (DamagedJSON, LookupError, TypeError, AttributeError):
        return []
    return names if all(isinstance(name, str) for name in names) else []


def note_replaced_archive(
    options: argparse.Namespace, before: Sequence[str], factory: AOTExecutorFactoryModule
) -> None:
    """Print a note on stderr if the replaced archive was compiled from other model files."""
    from usmp.objects.attributes.module_attributes import MODEL_FILES_ATTR

    now = list(MODEL_FILES_ATTR.required(factory.ir_mod))
    if before and set(before) != set(now):
        print(
            f"tvmc: {shown(options.output)} held {_listed(before)} and now holds {_listed(now)}; "
            "to keep both, and to link both into one program, name archive and C symbols: "
            "-o NAME.tar --module-name NAME",
            file=options.stderr,
        )


def _listed(names: Sequence[str]) -> str:
    return shown(", ".join(names))
