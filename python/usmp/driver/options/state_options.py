"""Options of `tvmc compile` and `tvmc plan` for what a model keeps between runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.driver.options.model_files import check_is_none_of
from usmp.driver.output import check_output, check_readable, written

if TYPE_CHECKING:
    from usmp.plain.state_layout import StateLayout

_LAYOUT = "the state layout"


def add_state_options(parser: Any) -> None:
    """Add the options of state layouts."""
    group = parser.add_argument_group(
        "state", "Where a model has what it keeps between runs; see also --state-pool."
    )
    group.add_argument(
        "--state-layout",
        metavar="PATH",
        help="keep the places that --export-state-layout wrote for an earlier version of the "
        "program, so that this one finds what that one left there",
    )
    group.add_argument(
        "--export-state-layout",
        metavar="PATH",
        help="write the places to a JSON file, for later versions of the program",
    )


def check_export(options: argparse.Namespace) -> None:
    """Refuse to write the layout where it cannot be, or over what is read or written.

    Raises
    ------
    UsageError
        the file cannot be written, or would be overwritten.
    """
    given, exported = options.state_layout, options.export_state_layout
    if exported is None:
        return
    check_is_none_of(exported, options, _LAYOUT)
    if options.output is not None:
        check_output(exported, options.output, _LAYOUT, "the output")
    if given is not None:
        check_output(exported, given, _LAYOUT, "the one that is read")


def check_state_options(options: argparse.Namespace) -> None:
    """Refuse files that cannot be read or written, or that are two things at once, before the
    seconds that TVM takes to load.

    Raises
    ------
    UsageError
        a file is missing, cannot be written, or would be overwritten.
    """
    given = options.state_layout
    if given is not None:
        check_readable(given)
    if given is not None and options.output is not None:
        check_output(options.output, given, "the output", _LAYOUT)
    check_export(options)


def check_has_state(options: argparse.Namespace, layout: StateLayout | None) -> None:
    """Refuse to write the layout of a model without state, before anything is written.

    Raises
    ------
    UsageError
        the layout is asked for, and there is none.
    """
    if options.export_state_layout is not None and layout is None:
        is_one = len(options.FILE) == 1
        what = "the model keeps" if is_one else "the models keep"
        raise UsageError(
            f"{', '.join(options.FILE)}: {what} nothing between runs, so "
            f"{'it has' if is_one else 'they have'} no state layout; leave --export-state-layout "
            "out"
        )


def export_state_layout(
    options: argparse.Namespace, layout: StateLayout | None, is_last: bool = True
) -> None:
    """Write the layout to the file that is asked for.

    Parameters
    ----------
    is_last
        whether the command writes nothing after it.

    Raises
    ------
    UsageError
        it cannot be written; then an older file of that name is as it was.
    """
    path = options.export_state_layout
    if path is None or layout is None:
        return
    from usmp.codegen.write_file import write_file

    with written(path, is_last):
        write_file(path, layout.to_json().encode())
