"""`tvmc explain`: explain the peak of a model's memory, and suggest options that reduce it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from typing import Any

from usmp.driver.build.misfit_advice import misfit_advice
from usmp.driver.build.plan_archive import is_archive, note_options_of_models, planned_module
from usmp.driver.errors import UsageError
from usmp.driver.options.build_options import (
    RARE_IN_PLANS,
    add_build_options,
    build_arguments,
)
from usmp.driver.options.model_files import check_is_none_of, note_one_program
from usmp.driver.output import Show, chosen_format, print_or_write
from usmp.driver.terminal.help import add_command
from usmp.driver.terminal.progress import add_quiet_option, stages
from usmp.driver.terminal.search import note_interrupted_search

FORMATS = ("text", "json", "markdown")
_ENDINGS = {".json": "json", ".md": "markdown"}

_WITH_ARCHIVES = {
    "help", "format", "output", "quiet", "no_suggestions", "usmp_algorithm", "usmp_time_budget"
}  # fmt: skip

_EXAMPLES = """\
  tvmc explain model.tflite
      for each pool the operator at the peak, what is live there and why, what cannot share bytes,
      what is proved; then what would need less RAM, each planned again
  tvmc explain model.tflite --board mps2-an500 --measure
      the same for a board, with code and instructions of each suggestion measured
  tvmc explain model.tflite --no-suggestions
      without planning again
  tvmc explain model.tflite -o memory.md
      as Markdown, for a review
  tvmc explain model.tflite --format json | jq '.suggestions[0].flag'
      what saves most
  tvmc explain model.tar
      what the metadata of an archive says

The model has to fit its pools; where it does not, the error of tvmc plan says what does not fit."""


def add_explain_parser(commands: Any) -> None:
    """Add `tvmc explain` and its options."""
    parser = add_command(
        commands,
        "explain",
        explain_model,
        summary="say why a model needs its memory, and what would reduce it",
        description="Plan the memory of a model, say what its peak consists of and what forces it, "
        "and plan it again with other options, and two of them together, to see what they save.",
        examples=_EXAMPLES,
    )
    add_build_options(parser)
    parser.make_rare(RARE_IN_PLANS)
    output = parser.add_argument_group("output files")
    output.add_argument(
        "--no-suggestions", action="store_true", help="do not plan again with other options"
    )
    output.add_argument(
        "--measure",
        action="store_true",
        help="compile each, to count code in flash, and with --board count the instructions of a "
        "run in the emulator (default: about as many as the core's costs say)",
    )
    output.add_argument(
        "--format",
        choices=FORMATS,
        help="how to show it (default: as the ending of --output says, .json or .md, else text)",
    )
    output.add_argument("-o", "--output", metavar="PATH", help="the file to write, not stdout")
    add_quiet_option(output)
    note_options_of_models(parser, _WITH_ARCHIVES)


def explain_model(options: argparse.Namespace) -> None:
    """Carry out `tvmc explain`."""
    if options.export_state_layout is not None:
        raise UsageError("--export-state-layout belongs to tvmc compile and tvmc plan")
    if options.output is not None:
        check_is_none_of(options.output, options, "the explanation")
    if is_archive(options):
        from usmp.report.explanation import explanation_document

        module = planned_module(options)
        document: Mapping[str, Any] = explanation_document(module.metadata)
    else:
        with (
            stages(options) as stage,
            misfit_advice(options),
            build_arguments(options, stage) as (models, arguments),
        ):
            import usmp

            explanation = usmp.explain(
                models,
                suggestions=not options.no_suggestions,
                measure=options.measure,
                progress=stage,
                **arguments,
            )
        note_interrupted_search(options, explanation.module)
        document = explanation.document
    _show(options, document)


def _show(options: argparse.Namespace, document: Mapping[str, Any]) -> None:
    """Print the document, or write it to the output file."""
    from usmp.report.explanation import explanation_json, explanation_markdown, print_explanation

    shown_as = chosen_format(options, _ENDINGS, "text")
    note_one_program(options, "explain", None if options.output is not None else shown_as)
    content: str | Show = partial(print_explanation, document)
    if shown_as != "text":
        content = (explanation_json if shown_as == "json" else explanation_markdown)(document)
    print_or_write(options.output, content)
