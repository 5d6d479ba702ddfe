"""`tvmc plan model.tar`: show the plan of a compiled archive."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError
from usmp.driver.options.state_options import check_export
from usmp.driver.output import check_readable

if TYPE_CHECKING:
    from usmp.plain.state_layout import StateLayout
    from usmp.runtime.archived.module import ArchivedModule

ARCHIVE = ".tar"
"""Ending of the file names of archives."""

_WITH_ARCHIVES = ("FILE", "module_name", "export_state_layout", "operators", "map", "report")


def note_options_of_models(parser: argparse.ArgumentParser, others: Collection[str]) -> None:
    """Store the options that apply only to models as the parser default `of_models`.

    Parameters
    ----------
    others
        `dest` of each option that also applies without a model.
    """
    of_models = [
        (action.option_strings[0] if action.option_strings else action.dest, action)
        for action in parser._actions
        if action.dest not in others
    ]
    parser.set_defaults(of_models=of_models)


def is_archive(options: argparse.Namespace) -> bool:
    """Return whether the file is an archive rather than a model.

    Raises
    ------
    UsageError
        an archive is named beside other files.
    """
    archives = [file for file in options.FILE if Path(file).suffix.lower() == ARCHIVE]
    if archives and len(options.FILE) > 1:
        raise UsageError(f"{archives[0]} is planned already; name no other file beside it")
    return bool(archives)


def planned_module(options: argparse.Namespace) -> ArchivedModule:
    """Return the module of the archive that the options select.

    Raises
    ------
    UsageError
        an option controls planning, but an archive is planned already.
    ArchiveError
        the file is no archive.
    ValueError
        the module is unknown, or the archive has several and the options name none.
    """
    (file,) = options.FILE
    for name, action in options.of_models:
        if action.dest not in _WITH_ARCHIVES and _is_given(options, action):
            raise UsageError(f"{name} belongs to a model, and {file} is planned already")
    for name in ("usmp_algorithm", "usmp_time_budget"):
        if getattr(options, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} belongs to a model, and {file} is planned already")
    check_readable(file)
    check_export(options)
    from usmp.runtime import load_archive

    archive = load_archive(file)
    (default,) = (a.default for _, a in options.of_models if a.dest == "module_name")
    is_named = options.module_name != default or default in archive.modules
    return archive.module(options.module_name if is_named else None)


def archived_state_layout(module: ArchivedModule) -> StateLayout | None:
    """Return the state layout, or None if the archive has none.

    Raises
    ------
    ValueError
        the layout is damaged.
    """
    from usmp.plain.state_layout import StateLayout

    document = module.metadata["memory"].get("state_layout")
    if document is None:
        return None
    try:
        return StateLayout.from_json(json.dumps(document))
    except ValueError as error:
        raise ValueError(f"the archive's state layout is damaged: {error}") from error


def _is_given(options: argparse.Namespace, action: argparse.Action) -> bool:
    return bool(getattr(options, action.dest, action.default) != action.default)
