"""`tvmc compile`: compile a model file to a Model Library Format archive."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from usmp.driver.build.misfit_advice import misfit_advice
from usmp.driver.build.replaced_archive import archived_model_files, note_replaced_archive
from usmp.driver.build.reports import add_report_option, check_reports, report_files, write_reports
from usmp.driver.build.summary import module_metadata, print_summary
from usmp.driver.errors import UsageError
from usmp.driver.options.accelerators import note_unused_accelerators
from usmp.driver.options.build_options import add_build_options, build_model
from usmp.driver.options.memory_pools import note_missing_sizes
from usmp.driver.options.model_files import check_is_none_of
from usmp.driver.options.state_options import check_has_state, export_state_layout
from usmp.driver.output import written
from usmp.driver.terminal.help import Rare, add_command
from usmp.driver.terminal.progress import add_quiet_option, stages
from usmp.driver.terminal.search import note_interrupted_search
from usmp.driver.terminal.shown_warnings import print_notes
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import printable

OUTPUT_FORMATS = ("mlf",)

_EXAMPLES = """\
  tvmc compile model.tflite -o model.tar
      C with planned memory, in a tar file; the table says what memory it needs
  tvmc compile model.tflite --workspace-io --target="c -mcpu=cortex-m4"
      inputs and outputs in the workspace too, and kernels for a core
  tvmc compile model.tflite --usmp-workspace-pools=dtcm,sram \\
      --usmp-workspace-pool-dtcm="target=c;size=64K"
      two memories for what a run writes, the fast and small one first
  tvmc compile model.tflite --board mps2-an385 -o board.tar
      everything in the memories of a board, and a project that builds a program for it
  tvmc compile vad.tflite kws.tflite -o both.tar
      two models in one memory: entries vad and kws, of which one runs after the other
  tvmc compile model.onnx --max seq=128 --report map.html
      memory for every length of the input up to 128; the memory map as a page for a browser"""


def add_compile_parser(commands: Any) -> None:
    """Add `tvmc compile` and its options."""
    parser = add_command(
        commands,
        "compile",
        compile_model,
        summary="compile a model",
        description="Compile a model to C with planned memory, and show what memory it needs.",
        examples=_EXAMPLES,
    )
    add_build_options(parser)
    output = parser.add_argument_group("output files")
    output.add_argument(
        "-o", "--output", default="module.tar", metavar="PATH", help="the archive to write"
    )
    output.add_argument(
        "-f",
        "--output-format",
        default="mlf",
        metavar="FORMAT",
        help=Rare("the format of the archive: Model Library Format"),
    )
    add_report_option(output)
    output.add_argument(
        "--reference",
        action=argparse.BooleanOptionalAction,
        help=Rare(
            "add a second build without optimizations, with whose outputs those of a board or "
            "device are compared (default: with --board or -mcpu)"
        ),
    )
    add_quiet_option(output)
    passes = parser.add_argument_group("passes")
    passes.add_argument(
        "--print-pass-times", action="store_true", help=Rare("print the time of each pass")
    )
    for when in ("before", "after"):
        passes.add_argument(
            f"--print-ir-{when}",
            metavar="NAME,...",
            help=Rare(f"print the module as TVMScript {when} these passes"),
        )


def compile_model(options: argparse.Namespace) -> None:
    """Carry out `tvmc compile`."""
    check_output_format(options.output_format)
    check_is_none_of(options.output, options, "the archive")
    check_reports(options)
    with stages(options) as stage, misfit_advice(options):
        # Summary and reports also show the RAM with inputs and outputs in the workspace.
        compares = not options.quiet or bool(options.report)
        factory = build_model(
            options, stage, compare_workspace_io=compares, reference=options.reference
        )
        check_has_state(options, factory.state_layout)
        stage("emitting C")
        reports = report_files(options, module_metadata(factory) if options.report else {})
        is_last = options.export_state_layout is None and not reports
        replaced = archived_model_files(options.output)
        with written(options.output, is_last=is_last):
            factory.export_model_library_format(options.output)
        export_state_layout(options, factory.state_layout, is_last=not reports)
        write_reports(reports)
    note_replaced_archive(options, replaced, factory)
    note_interrupted_search(options, factory)
    print_notes(options, note_unused_accelerators(options.target, factory))
    print_notes(options, note_missing_sizes(options, factory))
    if options.quiet:
        return
    for sentence in _note_missing_reference(module_metadata(factory)):
        print(sentence)
    print_summary(factory)


def check_output_format(name: str) -> None:
    """Raise UsageError if there is no output format of this name."""
    if name not in OUTPUT_FORMATS:
        problem = f'unknown output format "{name}"'
        raise UsageError(unknown_name(problem, name, OUTPUT_FORMATS, "Formats"))


def _note_missing_reference(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reason why there is no reference build, if one was asked for."""
    reason = metadata.get("reference", {}).get("unavailable")
    if reason is not None:
        yield f"The archive has no reference build: {printable(reason)}."
