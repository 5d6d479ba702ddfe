"""`tvmc plan model.tar`: the plan that an archive was compiled with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError
from usmp.driver.info import ARCHIVE
from usmp.driver.output import check_readable

if TYPE_CHECKING:
    from usmp.runtime.archived_module import ArchivedModule

_WITH_ARCHIVES = ("FILE", "module_name")


def is_archive(options: argparse.Namespace) -> bool:
    """Whether the file is an archive, and no model."""
    return Path(options.FILE).suffix.lower() == ARCHIVE


def planned_module(options: argparse.Namespace) -> ArchivedModule:
    """The module of the archive whose plan is asked for.

    Raises
    ------
    UsageError
        an option says how to plan; this plan is made.
    ArchiveError
        the file is no archive.
    ValueError
        the archive has no such module, or several and none is named.
    """
    for name, action in options.of_models:
        if action.dest not in _WITH_ARCHIVES and _is_given(options, action):
            raise UsageError(f"{name} belongs to a model, and {options.FILE} is planned already")
    for name in ("usmp_algorithm", "usmp_time_budget"):
        if getattr(options, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} belongs to a model, and {options.FILE} is planned already")
    check_readable(options.FILE)
    from usmp.runtime import load_archive

    archive = load_archive(options.FILE)
    (default,) = (a.default for _, a in options.of_models if a.dest == "module_name")
    is_named = options.module_name != default or default in archive.modules
    return archive.module(options.module_name if is_named else None)


def _is_given(options: argparse.Namespace, action: argparse.Action) -> bool:
    return bool(getattr(options, action.dest, action.default) != action.default)
