"""Options of `tvmc compile` and `tvmc plan` for the state layout."""

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
    group = parser.add_argument_group("state")
    group.add_argument(
        "--state-layout",
        metavar="PATH",
        help="keep states where an earlier version of the program has them, as its "
        "--export-state-layout wrote",
    )
    group.add_argument(
        "--export-state-layout",
        metavar="PATH",
        help="write the places of states to a JSON file, for later versions of the program",
    )


def check_export(options: argparse.Namespace) -> None:
    """Check that the layout can be written, and overwrites no input or other output.

    Raises
    ------
    UsageError
        the layout cannot be written, or would overwrite another file of the command.
    """
    layout, exported = options.state_layout, options.export_state_layout
    if exported is None:
        return
    check_is_none_of(exported, options, _LAYOUT)
    if options.output is not None:
        check_output(exported, options.output, _LAYOUT, "the output")
    if layout is not None:
        check_output(exported, layout, _LAYOUT, "the one that is read")


def check_state_options(options: argparse.Namespace) -> None:
    """Check the files of the options early, because TVM takes seconds to load.

    Raises
    ------
    UsageError
        a file is missing, cannot be written, or would be overwritten.
    """
    layout = options.state_layout
    if layout is not None:
        check_readable(layout)
    if layout is not None and options.output is not None:
        check_output(options.output, layout, "the output", _LAYOUT)
    check_export(options)


def check_has_state(options: argparse.Namespace, layout: StateLayout | None) -> None:
    """Raise UsageError if the layout should be exported but the models have no state."""
    if options.export_state_layout is not None and layout is None:
        is_one = len(options.FILE) == 1
        subject = "the model keeps" if is_one else "the models keep"
        raise UsageError(
            f"{', '.join(options.FILE)}: {subject} nothing between runs, so "
            f"{'it has' if is_one else 'they have'} no state layout; leave --export-state-layout "
            "out"
        )


def export_state_layout(
    options: argparse.Namespace, layout: StateLayout | None, is_last: bool = True
) -> None:
    """Write the layout to the file of `--export-state-layout`, if there is one.

    Parameters
    ----------
    is_last
        whether the layout is the last file that the command writes.

    Raises
    ------
    UsageError
        the file cannot be written; an existing file of that name stays unchanged.
    """
    path = options.export_state_layout
    if path is None or layout is None:
        return
    from usmp.codegen.write_file import write_file

    with written(path, is_last):
        write_file(path, layout.to_json().encode())
