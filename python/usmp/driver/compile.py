"""`tvmc compile`: a model file in, a Model Library Format archive out."""

from __future__ import annotations

import argparse
import os
from typing import Any

from usmp.driver.errors import UsageError
from usmp.driver.pass_config import pass_context

EXECUTORS = ("aot",)
OUTPUT_FORMATS = ("mlf",)


def add_compile_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "compile",
        help="compile a model",
        description="Compile a model to C with planned memory, and show what memory it needs.",
    )
    parser.set_defaults(command=compile_model)
    parser.add_argument("FILE", help="the model: a .tflite, .onnx or .pt2 file")
    parser.add_argument("-o", "--output", default="module.tar", help="the archive to write")
    parser.add_argument("--target", default="c", help="what to make code for: c")
    parser.add_argument("--executor", default="aot", help="how the model is run: aot")
    for side in ("workspace", "constant"):
        parser.add_argument(
            f"--executor-aot-{side}-byte-alignment",
            type=int,
            metavar="BYTES",
            help=f"alignment of each buffer in {side} pools (16)",
        )
    parser.add_argument(
        "-f", "--output-format", default="mlf", help="mlf, the Model Library Format"
    )
    parser.add_argument(
        "--pass-config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a pass option, such as tir.usmp.algorithm=greedy_by_size; may be repeated",
    )
    parser.add_argument(
        "--module-name", default="default", help="prefix of the C symbols (default)"
    )


def compile_model(options: argparse.Namespace) -> None:
    """Carry out the command."""
    if options.executor not in EXECUTORS:
        raise UsageError(
            f'unknown executor "{options.executor}"; supported: {", ".join(EXECUTORS)}'
        )
    if options.output_format not in OUTPUT_FORMATS:
        raise UsageError(
            f'unknown output format "{options.output_format}"; '
            f"supported: {', '.join(OUTPUT_FORMATS)}"
        )
    if os.path.realpath(options.output) == os.path.realpath(options.FILE):
        raise UsageError(f"{options.output}: the archive would overwrite the model")
    import usmp
    from usmp.build import supported_target
    from usmp.report import print_memory_summary

    target = supported_target(options.target)
    executor = usmp.Executor(options.executor, _executor_options(options))
    with pass_context(options.pass_config):
        mod = usmp.import_model(options.FILE)
        factory = usmp.build(mod, target, executor, module_name=options.module_name)
        try:
            factory.export_model_library_format(options.output)
        except OSError as error:
            raise UsageError(f"{options.output}: cannot be written ({error.strerror})") from error
    print_memory_summary(factory.metadata["modules"][options.module_name])


def _executor_options(options: argparse.Namespace) -> dict[str, int]:
    given = {
        "workspace-byte-alignment": options.executor_aot_workspace_byte_alignment,
        "constant-byte-alignment": options.executor_aot_constant_byte_alignment,
    }
    return {name: value for name, value in given.items() if value is not None}
