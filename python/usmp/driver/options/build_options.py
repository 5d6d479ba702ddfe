"""The options that `tvmc compile`, `tvmc plan` and other commands pass to `usmp.build`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

from usmp.driver.errors import UsageError
from usmp.driver.options.accelerators import add_extension_option, load_extensions
from usmp.driver.options.import_options import add_import_options
from usmp.driver.options.memory_pools import (
    add_pool_options,
    listed_targets,
    memory_pools,
    state_pool,
)
from usmp.driver.options.model_files import (
    add_entry_options,
    add_files_option,
    check_model_files,
    concurrent_entries,
    import_models,
    model_files,
)
from usmp.driver.options.pass_settings import PassSettings
from usmp.driver.options.state_options import add_state_options, check_state_options
from usmp.driver.options.target_options import add_target_options, full_target
from usmp.driver.terminal.help import Parser, Rare
from usmp.driver.terminal.progress import ProgressCallback, planning_stage
from usmp.driver.terminal.search import add_time_budget_option, command_deadline, watched_search
from usmp.driver.without_torch import without_torch
from usmp.names import C_NAMES, DEFAULT_MODULE, FLOAT, IO_TYPES, MODEL_NAMES, PROFILE
from usmp.support.text.known_names import unknown_name
from usmp.tvm018.old_name import TRUE, parse_truth

EXECUTORS = ("aot",)
SHORT_PASS_OPTIONS = {
    "usmp_algorithm": "tir.usmp.algorithm",
    "usmp_time_budget": "tir.usmp.time_budget",
    "usmp_preserve_inputs": "tir.usmp.preserve_inputs",
    "workspace_io": "tir.usmp.use_workspace_io",
}
"""Pass options, by the destination of the command-line option that sets each."""

RARE_IN_PLANS = ("module_name", "profile", "state_layout", "export_state_layout")
"""Destinations of options that commands rarely need if they emit no C."""

LISTED_PASS_OPTIONS = {
    "stream_input": "tir.usmp.stream_inputs",
    "stream_output": "tir.usmp.stream_outputs",
}
"""Pass options that are lists of names, by the destination of the option that adds a name."""


def add_build_options(parser: Parser, needs_model: bool = True) -> None:
    """Add the build options. Without `needs_model`, no FILE is required."""
    parser.takes_files_anywhere = True
    # Disallow abbreviations, because a flag that ends in a pool's name could be one.
    parser.allow_abbrev = False
    parser.usage = "%(prog)s [options] [NAME=]FILE ..."
    model = parser.add_argument_group("model")
    add_files_option(model, needs_model)
    add_import_options(model)
    model.add_argument(
        "--io-type",
        choices=IO_TYPES,
        default=FLOAT,
        help="the type of inputs and outputs: as in the model, or the integers of one that "
        "quantizes its inputs and dequantizes its outputs",
    )
    _add_target_options(parser)
    memory = parser.add_argument_group("memory")
    memory.add_argument(
        "--workspace-io",
        action="store_true",
        default=None,
        help="place inputs and outputs in the workspace too, where they share bytes with other "
        "buffers",
    )
    memory.add_argument(
        "--stream-input",
        action="append",
        metavar="[ENTRY.]NAME[:hop=N]",
        help="let the application give this input row by row, or the N new rows of a window in "
        "each run; may be repeated",
    )
    memory.add_argument(
        "--stream-output",
        action="append",
        metavar="[ENTRY.]NAME",
        help="let the application take this output row by row; may be repeated",
    )
    memory.add_argument(
        "--usmp-preserve-inputs",
        action="store_true",
        default=None,
        help=Rare("keep inputs in the workspace intact to the end of a run"),
    )
    add_pool_options(parser, memory)
    search = parser.add_argument_group("search")
    search.add_argument(
        "--usmp-algorithm",
        metavar="NAME",
        help="what places the buffers (tvmc list algorithms)",
    )
    add_time_budget_option(search)
    search.add_argument(
        "--pass-config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a pass option, such as tir.usmp.optimize=speed (tvmc list pass-configs); may be "
        "repeated",
    )
    search.add_argument(
        "--disabled-pass",
        action="append",
        default=[],
        metavar="NAME,...",
        help=Rare(
            "optimizations to leave out, such as StreamOperators (tvmc list passes); may be "
            "repeated"
        ),
    )
    add_entry_options(parser.add_argument_group("several models"))
    add_state_options(parser)


def _add_target_options(parser: Parser) -> None:
    """Add the options that say what code is made."""
    target = parser.add_argument_group("target and code")
    target.add_argument(
        "--target",
        default="c",
        help='what to make code for, such as "c -mcpu=cortex-m4" (tvmc list targets)',
    )
    add_target_options(target)
    target.add_argument(
        "--board",
        metavar="NAME",
        help="plan for the memories of a board, and add a project that builds a program for it "
        "(tvmc list boards)",
    )
    target.add_argument("--module-name", default=DEFAULT_MODULE, help="the prefix of the C symbols")
    target.add_argument(
        "--c-names",
        choices=C_NAMES,
        default=MODEL_NAMES,
        help=Rare("what outputs are called in C: as in the model, or as TVM 0.18 called them"),
    )
    target.add_argument(
        "--profile",
        action="store_true",
        help="call functions before and after each operator, for tvmc run --profile or functions "
        "of your own",
    )
    add_extension_option(target, is_rare=True)
    target.add_argument("--executor", default="aot", help=Rare("how the model is run"))
    target.add_argument("--runtime", help=argparse.SUPPRESS)
    for side in ("workspace", "constant"):
        target.add_argument(
            f"--executor-aot-{side}-byte-alignment",
            type=int,
            metavar="BYTES",
            help=Rare(f"the alignment of each buffer in {side} pools (default: 16)"),
        )
    target.add_argument(
        "--executor-aot-interface-api",
        metavar="{c,packed}",
        help=Rare("how the model is called: from C, or by TVM's runtime (default: c)"),
    )
    for option in ("unpacked-api", "link-params"):
        target.add_argument(
            f"--executor-aot-{option}",
            type=_truth,
            nargs="?",
            const=True,
            help=argparse.SUPPRESS,
        )


def _needs_no_torch(options: argparse.Namespace) -> bool:
    """Return whether neither a model nor an extension can use PyTorch."""
    return not options.extension and all(
        file.ending in (".tflite", ".onnx") for file in model_files(options)
    )


def build_model(
    options: argparse.Namespace,
    stage: ProgressCallback,
    *,
    compare_workspace_io: bool = True,
    reference: bool | None = False,
) -> Any:
    """Import and build the models of the options. Return an `AOTExecutorFactoryModule`."""
    with build_arguments(options, stage) as (models, arguments):
        import usmp

        return usmp.build(
            models,
            compare_workspace_io=compare_workspace_io,
            reference=reference,
            **arguments,
        )


@contextmanager
def build_arguments(
    options: argparse.Namespace, stage: ProgressCallback
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Import the models, and yield them with the arguments of `usmp.build`.

    The body runs within the PassContext and the planning session of the options.
    """
    if options.executor not in EXECUTORS:
        problem = f'unknown executor "{options.executor}"'
        raise UsageError(unknown_name(problem, options.executor, EXECUTORS, "Executors"))
    check_model_files(options)
    check_state_options(options)
    stage("loading TVM")
    with without_torch() if _needs_no_torch(options) else nullcontext():
        from tvm.ir.transform import PassContext

        import usmp
        from usmp.current_context import entered_current_context
        from usmp.objects.target.targets import parse_targets
        from usmp.planning.options import planning_options
        from usmp.planning.session import planning_session
        from usmp.relax.accelerators.known import check_accelerators
        from usmp.support.errors import naming_file

    executor = usmp.Executor(options.executor, _executor_options(options))
    runtime = None if options.runtime is None else usmp.Runtime(options.runtime)
    options.target = full_target(options)
    targets = parse_targets(options.target, takes_executor_options=True)
    load_extensions(options.extension)
    workspace, constants = memory_pools(options, targets)
    states = state_pool(options, targets)
    check_accelerators(targets.accelerators, listed=listed_targets(options))
    with (
        ExitStack() as enclosing,
        _passes(options).context(),
        entered_current_context(),
        planning_stage(stage),
        watched_search(PassContext.current().config, stage),
        planning_session(command_deadline(options, planning_options().time_budget)),
    ):
        models = import_models(options, stage)
        stage("lowering")
        files = model_files(options)
        enclosing.enter_context(naming_file(files[0].path if len(files) == 1 else None))
        yield (
            models,
            {
                "target": targets,
                "executor": executor,
                "runtime": runtime,
                "workspace_memory_pools": workspace,
                "constant_memory_pools": constants,
                "module_name": options.module_name,
                "board": options.board,
                "concurrent": concurrent_entries(options),
                "shared_state": options.shared_state,
                "state_memory_pool": states,
                "io_memory_pool": options.io_pool,
                "state_layout": options.state_layout,
                "io_type": options.io_type,
                "c_names": options.c_names,
            },
        )


def _passes(options: argparse.Namespace) -> PassSettings:
    """Return the pass settings of the options. Only `tvmc compile` has options that print."""
    return PassSettings(
        options=_pass_settings(options),
        disabled_pass=",".join(options.disabled_pass),
        print_times=getattr(options, "print_pass_times", False),
        print_before=getattr(options, "print_ir_before", None),
        print_after=getattr(options, "print_ir_after", None),
    )


def _pass_settings(options: argparse.Namespace) -> list[str]:
    """Return the settings of `--pass-config`, and of other options that set pass options."""
    settings = list(options.pass_config)
    for attribute, name in SHORT_PASS_OPTIONS.items():
        value = getattr(options, attribute)
        if value is None:
            continue
        flag = f"--{attribute.replace('_', '-')}"
        written, equivalents = (flag, TRUE) if value is True else (f"{flag}={value}", (value,))
        for setting in options.pass_config:
            option, _, other = setting.partition("=")
            if option == name and (other.lower() if value is True else other) not in equivalents:
                raise UsageError(
                    f"{written} and --pass-config {setting} contradict each other; give one of them"
                )
        settings.append(f"{name}={equivalents[0]}")
    for attribute, name in LISTED_PASS_OPTIONS.items():
        names = getattr(options, attribute)
        if not names:
            continue
        for setting in options.pass_config:
            if setting.partition("=")[0] == name:
                flags = " ".join(f"--{attribute.replace('_', '-')}={value}" for value in names)
                raise UsageError(
                    f"{flags} and --pass-config {setting} say the same twice; give one of them"
                )
        settings.append(f"{name}={json.dumps(names)}")
    if options.profile:
        settings.append(f"tir.usmp.debug={PROFILE}")
    return settings


def _truth(text: str) -> bool:
    truth = parse_truth(text)
    if truth is None:
        raise argparse.ArgumentTypeError(f"must be 0 or 1, not {text}")
    return truth


def _executor_options(options: argparse.Namespace) -> dict[str, Any]:
    names = (
        "workspace-byte-alignment",
        "constant-byte-alignment",
        "interface-api",
        "unpacked-api",
        "link-params",
    )
    values = {name: getattr(options, f"executor_aot_{name.replace('-', '_')}") for name in names}
    return {name: value for name, value in values.items() if value is not None}
