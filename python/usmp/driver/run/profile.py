"""`tvmc run --profile`: print and write the cost of each operator."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from usmp.driver.build.reports import add_report_option, report_files, write_reports
from usmp.driver.output import written
from usmp.support.model_operators import title_names

if TYPE_CHECKING:
    from rich.console import Console

    from usmp.runtime import Archive, OperatorProfile, Profile


def add_profile_options(parser: Any) -> None:
    """Add `--profile`, `--profile-json` and `--report`."""
    parser.add_argument(
        "--profile",
        action="store_true",
        help="print what each operator takes, of a model that was compiled with --profile: its "
        "time, with --board its instructions, with --serial its clock cycles, also for each "
        "multiply-accumulate",
    )
    parser.add_argument(
        "--profile-json",
        metavar="FILE",
        help="write the same to a file, as JSON; with --profile or without",
    )
    add_report_option(parser, "a report of the memory plan with what each operator takes")


def check_profile_options(options: argparse.Namespace, archive: Archive) -> None:
    """Turn on `--profile` if a file needs it, and check that the model can be profiled.

    Raises
    ------
    NotProfiled
        the model was compiled without `--profile`.
    """
    from usmp.runtime.operator_profile import check_has_hooks

    options.profile |= options.profile_json is not None or bool(options.report)
    if options.profile:
        check_has_hooks(archive.module(options.module_name).metadata)


def report_profile(
    profile: Profile, options: argparse.Namespace, metadata: Mapping[str, Any]
) -> None:
    """Print the table, and write the requested files. `metadata` is that of the module."""
    if options.report:
        from usmp.report import with_measured_costs

        write_reports(report_files(options, with_measured_costs(metadata, profile)), is_last=False)
    if options.profile_json is not None:
        text = json.dumps(profile.as_json(), indent=2) + "\n"
        with written(options.profile_json), open(options.profile_json, "w") as file:
            file.write(text)
    if not options.quiet:
        print_profile(profile)


def print_profile(profile: Profile, console: Console | None = None) -> None:
    """Print a row for each operator, and a total.

    A narrow terminal shortens names, and omits shapes, kinds, functions and costs per
    multiply-accumulate.
    """
    from rich.console import Console

    from usmp.report.text_tables import TextTable, print_table, print_text, total_cell
    from usmp.support.text.plain_text import shown

    console = console or Console(highlight=False)
    macs = [operator.macs for operator in profile.operators]
    knows_cost = profile.macs and None not in macs
    per_mac = _per_mac(profile.unit, profile.cost / profile.macs if knows_cost else None)
    unit = "time [us]" if profile.unit == "ns" else profile.unit
    # Archives of hand-written modules do not know operators of a model file.
    known = any(operator.model_operators for operator in profile.operators)
    first = 1 + known
    table = TextTable(
        f'Operators of entry "{shown(profile.entry)}"',
        (
            *("", *(("operator of the model",) if known else ()), "function", "computes"),
            *("takes", "gives", "MACs", unit, "share", "per MAC"),
        ),
        [_row(profile, operator, known) for operator in profile.operators],
        names=frozenset(range(1, first + 2)),
        numbers=frozenset({0, *range(first + 4, first + 8)}),
        footer=(
            *("", "all", *("" for _ in range(first + 2))),
            *(total_cell(macs), _cost(profile.unit, profile.cost), "", per_mac),
        ),
        one_line=frozenset(range(1, first + 2)),
        optional=(first + 2, first + 3, first + 1, *((first,) if known else ()), first + 7),
    )
    print_table(table, console)
    if profile.unit == "ns":
        print_text(
            f"Times are medians of {profile.runs} runs; per MAC they are nanoseconds.", console
        )


def _row(profile: Profile, operator: OperatorProfile, is_model_known: bool) -> list[str]:
    share = operator.cost / profile.cost if profile.cost else 0.0
    return [
        str(operator.index),
        *([title_names(operator.model_operators)] if is_model_known else []),
        " ".join(operator.functions),
        " + ".join(operator.kinds),
        ", ".join(map(str, operator.inputs)),
        ", ".join(map(str, operator.outputs)),
        "?" if operator.macs is None else str(operator.macs),
        _cost(profile.unit, operator.cost),
        f"{share:.1%}",
        _per_mac(profile.unit, operator.cost_per_mac),
    ]


def _cost(unit: str, cost: float) -> str:
    return f"{cost / 1000:.2f}" if unit == "ns" else f"{cost:.0f}"


def _per_mac(unit: str, cost: float | None) -> str:
    if cost is None:
        return "-"
    return f"{cost:.3f}" if unit == "ns" else f"{cost:.2f}"
