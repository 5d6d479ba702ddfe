"""`tvmc plan`: plan the memory of a model without emitting C."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from usmp.driver.build.misfit_advice import misfit_advice
from usmp.driver.build.plan_archive import archived_state_layout, is_archive, planned_module
from usmp.driver.build.plan_buffers import add_buffers_options, plan_buffers
from usmp.driver.build.plan_tflm import add_tflm_option, plan_tflm
from usmp.driver.build.reports import add_report_option, check_reports, report_files, write_reports
from usmp.driver.build.summary import module_metadata, print_summary
from usmp.driver.errors import UsageError
from usmp.driver.options.accelerators import note_unused_accelerators
from usmp.driver.options.build_options import RARE_IN_PLANS, add_build_options, build_model
from usmp.driver.options.model_files import check_is_none_of, note_one_program
from usmp.driver.options.state_options import check_has_state, export_state_layout
from usmp.driver.output import Show, chosen_format, print_or_write
from usmp.driver.terminal.help import add_command
from usmp.driver.terminal.progress import add_quiet_option, stages
from usmp.driver.terminal.search import note_interrupted_search
from usmp.driver.terminal.shown_warnings import print_notes

if TYPE_CHECKING:
    from rich.console import Console

FORMATS = ("table", "json", "csv")
_ENDINGS = {".json": "json", ".csv": "csv"}

_EXAMPLES = """\
  tvmc plan model.tflite
      the peak of every pool beside its lower bound, and what is live there
  tvmc plan model.tflite --operators
      a row for every operator: those of the model, shapes, MACs, weights, live bytes
  tvmc plan model.tflite --usmp-time-budget=10s -o plan.csv
      the best plan that is found in ten seconds; a row for every buffer, with its offset
  tvmc plan model.tar --map --report map.html
      the plan that tvmc compile made, as a map in the terminal, and as a page for a browser
  tvmc plan model.tflite --emit-tflm planned.tflite
      the model with offsets that TFLite Micro takes for its arena
  tvmc plan --buffers in.csv --capacity 1M -o out.csv
      buffers of another compiler: the columns id,lower,upper,size in, and offset out

The plan of a model is that of tvmc compile with the same options, to the byte."""


def add_plan_parser(commands: Any) -> None:
    """Add `tvmc plan` and its options."""
    parser = add_command(
        commands,
        "plan",
        plan_model,
        summary="show what memory a model needs",
        description="Plan the memory of a model, or the buffers of another compiler, and show the "
        "plan; no C is made.",
        examples=_EXAMPLES,
    )
    add_build_options(parser, needs_model=False)
    parser.make_rare(RARE_IN_PLANS)
    output = parser.add_argument_group("output files")
    output.add_argument(
        "--format",
        choices=FORMATS,
        help="how to show the plan (default: as the ending of --output says, else table)",
    )
    output.add_argument("-o", "--output", metavar="PATH", help="the file to write, not stdout")
    output.add_argument(
        "--operators",
        action="store_true",
        help="show a row for each operator: its MACs, weights, buffers, and the bytes that are "
        "live while it runs",
    )
    add_tflm_option(output)
    output.add_argument(
        "--map",
        action="store_true",
        help="show how full each pool is, and when the largest buffers are live",
    )
    add_report_option(output)
    add_quiet_option(output)
    add_buffers_options(parser)


def plan_model(options: argparse.Namespace) -> None:
    """Carry out `tvmc plan`."""
    shown_as = chosen_format(options, _ENDINGS)
    if options.buffers is not None:
        plan_buffers(options, shown_as)
        return
    _check_map(options, shown_as)
    if not options.FILE:
        raise UsageError("name a model, or a CSV with --buffers. See tvmc plan --help")
    if options.capacity:
        raise UsageError(
            "--capacity belongs to --buffers; pools of a model have sizes of their own"
        )
    if options.output is not None:
        check_is_none_of(options.output, options, "the plan")
    check_reports(options)
    if options.emit_tflm is not None and not is_archive(options):
        plan_tflm(options, shown_as)
        return
    if is_archive(options):
        module = planned_module(options)
        metadata, layout = module.metadata, archived_state_layout(module)
        show: Show = partial(_print_plan, metadata)
    else:
        with stages(options) as stage, misfit_advice(options):
            # Tables of operators do not show the RAM with inputs and outputs in the workspace.
            factory = build_model(options, stage, compare_workspace_io=not options.operators)
        note_interrupted_search(options, factory)
        print_notes(options, note_unused_accelerators(options.target, factory))
        show = partial(print_summary, factory)
        metadata, layout = module_metadata(factory), factory.state_layout
    if options.operators:
        show = partial(_print_operators, metadata)
    if options.map:
        show = partial(_print_with_map, show, metadata)
    check_has_state(options, layout)
    reports = report_files(options, metadata)
    export_state_layout(options, layout, is_last=options.output is None and not reports)
    write_reports(reports, is_last=options.output is None)
    if shown_as == "table":
        if options.output is None:
            note_one_program(options, "plan", shown_as)
        print_or_write(options.output, show)
    else:
        print_or_write(options.output, _text(metadata, shown_as, options.operators))


def _check_map(options: argparse.Namespace, shown_as: str) -> None:
    """Raise if `--map` is combined with a format other than a table."""
    if options.map and shown_as != "table":
        raise UsageError(
            f"--map belongs to the table, and not to {shown_as}; for other programs there is "
            "--report map.json"
        )


def _print_with_map(show: Show, metadata: Mapping[str, Any], console: Console | None) -> None:
    from usmp.report import map_of_metadata, print_memory_map

    drawn = map_of_metadata(metadata)
    show(console)
    print_memory_map(drawn, console)


def _print_plan(metadata: Mapping[str, Any], console: Console | None) -> None:
    from usmp.report import print_memory_summary

    print_memory_summary(metadata, console)


def _print_operators(metadata: Mapping[str, Any], console: Console | None) -> None:
    from usmp.report import print_operators

    print_operators(metadata, console)


def _text(metadata: Mapping[str, Any], shown_as: str, operators: bool) -> str:
    from usmp.report import operators_csv, operators_json, plan_csv, plan_json

    if operators:
        return operators_json(metadata) if shown_as == "json" else operators_csv(metadata)
    return plan_json(metadata["memory"]) if shown_as == "json" else plan_csv(metadata)
