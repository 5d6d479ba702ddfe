"""`tvmc compile`: a model file in, a Model Library Format archive out."""

from __future__ import annotations

import argparse
import os
from typing import Any

from usmp.driver.build_options import add_build_options, build_model
from usmp.driver.errors import UsageError
from usmp.driver.memory_pools import print_unused_pools

OUTPUT_FORMATS = ("mlf",)


def add_compile_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "compile",
        help="compile a model",
        description="Compile a model to C with planned memory, and show what memory it needs.",
    )
    parser.set_defaults(command=compile_model)
    add_build_options(parser)
    parser.add_argument("-o", "--output", default="module.tar", help="the archive to write")
    parser.add_argument(
        "-f", "--output-format", default="mlf", help="mlf, the Model Library Format"
    )


def compile_model(options: argparse.Namespace) -> None:
    """Carry out the command."""
    if options.output_format not in OUTPUT_FORMATS:
        raise UsageError(
            f'unknown output format "{options.output_format}"; '
            f"supported: {', '.join(OUTPUT_FORMATS)}"
        )
    if os.path.realpath(options.output) == os.path.realpath(options.FILE):
        raise UsageError(f"{options.output}: the archive would overwrite the model")
    factory = build_model(options)
    try:
        factory.export_model_library_format(options.output)
    except OSError as error:
        raise UsageError(f"{options.output}: cannot be written ({error.strerror})") from error
    from usmp.report import print_memory_summary

    print_memory_summary(factory.metadata["modules"][options.module_name])
    print_unused_pools(factory.ir_mod)
