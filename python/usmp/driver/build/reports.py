"""`--report PATH`: the reports that `tvmc compile` and `tvmc plan` write beside their output."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from usmp.driver.errors import UsageError
from usmp.driver.options.model_files import check_is_none_of
from usmp.driver.output import written
from usmp.names import REPORTS
from usmp.support.distribution import install_command
from usmp.support.text.known_names import unknown_name

_DRAWN = (".html", ".svg", ".png")
"""Endings of reports that need the optional dependencies `report`."""


def add_report_option(group: argparse._ActionsContainer, what: str = "a report") -> None:
    """Add `--report`, with `what` as the object of its help text."""
    group.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="PATH",
        help=f"also write {what}: a page (.html), a picture (.svg, .png), or a file for other "
        "programs (.json, .csv and others); may be repeated",
    )


def check_reports(options: argparse.Namespace) -> None:
    """Check the paths of reports before the model is built.

    Raises
    ------
    UsageError
        as `check_report_paths`; or a path cannot be written, or is an input of the command.
    """
    for path in options.report:
        check_is_none_of(path, options, "the report")
    check_report_paths(options.report, [options.output, options.export_state_layout])


def check_report_paths(paths: Sequence[str], others: Sequence[str | None]) -> None:
    """Check the endings of report paths, and that no report has the path of another output.

    Raises
    ------
    UsageError
        the ending of a file is unknown, a package is missing, or a file is named twice.
    """
    outputs = {os.path.realpath(path) for path in others if path}
    for path in paths:
        ending = _ending(path)
        if ending in _DRAWN and find_spec("vl_convert") is None:
            raise UsageError(
                f"{path}: a report of this kind needs the package vl-convert-python, which is not "
                f"installed; install it with: {install_command('report')}"
            )
        real = os.path.realpath(path)
        if real in outputs:
            raise UsageError(f"{path}: two outputs of this command are this file; name another")
        outputs.add(real)


def report_files(
    options: argparse.Namespace, metadata: Mapping[str, Any]
) -> list[tuple[str, bytes]]:
    """Return the path and the content of each report, without writing it.

    Raises
    ------
    ValueError
        the metadata of the archive is damaged.
    """
    if not options.report:
        return []
    from usmp.report import report_bytes

    return [(path, report_bytes(metadata, _ending(path))) for path in options.report]


def write_reports(files: list[tuple[str, bytes]], is_last: bool = True) -> None:
    """Write the reports.

    Parameters
    ----------
    is_last
        whether the command writes nothing after these reports.

    Raises
    ------
    UsageError
        a report cannot be written; an existing file of that name stays unchanged.
    """
    if not files:
        return
    from usmp.codegen.write_file import write_file

    for path, content in files:
        with written(path, is_last=is_last and path == files[-1][0]):
            write_file(path, content)


def _ending(path: str) -> str:
    """Return the longest known ending of a path, which selects the kind of report."""
    name = os.path.basename(path).lower()
    endings = [ending for ending in REPORTS if name.endswith(ending)]
    if not endings:
        ending = os.path.splitext(name)[1] or name
        problem = f'{path}: unknown kind of report "{ending}"'
        raise UsageError(unknown_name(problem, ending, REPORTS, "Endings"))
    return max(endings, key=len)
