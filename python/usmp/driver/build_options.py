"""The options of `tvmc compile` and `tvmc plan` that say what is built, and for what."""

from __future__ import annotations

import argparse
from typing import Any

from usmp.driver.errors import UsageError
from usmp.driver.pass_config import pass_context

EXECUTORS = ("aot",)


def add_build_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("FILE", help="the model: a .tflite, .onnx or .pt2 file")
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
        "--pass-config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a pass option, such as tir.usmp.algorithm=greedy_by_size; may be repeated",
    )
    parser.add_argument(
        "--module-name", default="default", help="prefix of the C symbols (default)"
    )


def build_model(options: argparse.Namespace) -> Any:
    """Import and build the model as the options say: an `AOTExecutorFactoryModule`."""
    if options.executor not in EXECUTORS:
        raise UsageError(
            f'unknown executor "{options.executor}"; supported: {", ".join(EXECUTORS)}'
        )
    import usmp
    from usmp.objects.targets import parse_targets

    targets = parse_targets(options.target)
    executor = usmp.Executor(options.executor, _executor_options(options))
    with pass_context(options.pass_config):
        mod = usmp.import_model(options.FILE)
        return usmp.build(mod, targets, executor, module_name=options.module_name)


def _executor_options(options: argparse.Namespace) -> dict[str, int]:
    given = {
        "workspace-byte-alignment": options.executor_aot_workspace_byte_alignment,
        "constant-byte-alignment": options.executor_aot_constant_byte_alignment,
    }
    return {name: value for name, value in given.items() if value is not None}
