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
        "--executor-aot-interface-api",
        metavar="{c,packed}",
        help="how the model is called: from C (c), or by TVM's runtime (packed)",
    )
    for option, text in (
        ("unpacked-api", "1 with interface api c, 0 with packed; need not be given"),
        ("link-params", "1: constants are part of the code, as they always are"),
    ):
        parser.add_argument(f"--executor-aot-{option}", type=_truth, metavar="{0,1}", help=text)
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


def _truth(text: str) -> bool:
    truths = {"0": False, "false": False, "1": True, "true": True}
    if text.lower() not in truths:
        raise argparse.ArgumentTypeError(f"must be 0 or 1, not {text}")
    return truths[text.lower()]


def _executor_options(options: argparse.Namespace) -> dict[str, Any]:
    names = (
        "workspace-byte-alignment",
        "constant-byte-alignment",
        "interface-api",
        "unpacked-api",
        "link-params",
    )
    given = {name: getattr(options, f"executor_aot_{name.replace('-', '_')}") for name in names}
    return {name: value for name, value in given.items() if value is not None}
