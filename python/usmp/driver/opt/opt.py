"""`usmp-opt`: run named passes over TVMScript, and print the IR before or after any of them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import usmp
from usmp.driver.errors import UsageError
from usmp.driver.native_log import silenced_native_log
from usmp.driver.options.accelerators import add_extension_option, load_extensions
from usmp.driver.options.import_options import add_import_options
from usmp.driver.options.memory_pools import add_pool_options, memory_pools, state_pool
from usmp.driver.options.pass_config import pass_context, told_settings
from usmp.driver.options.pool_flags import split_pool_flags
from usmp.driver.output import check_output, check_readable, written
from usmp.driver.terminal.error_message import tell
from usmp.driver.terminal.help import HelpFormatter, Parser, add_help_all_option
from usmp.driver.terminal.shown_warnings import shown_warnings

if TYPE_CHECKING:
    from tvm.ir import IRModule

SEPARATOR = "# -----"
"""Line between the modules of an input file, and of the output."""

_FAILED, _INTERRUPTED = 1, 130

_DESCRIPTION = """\
Read TVMScript, run named passes over it, and print the IR.

TVMScript is Python, which runs as it is read: give usmp-opt your own files only.
Model files (.tflite, .onnx, .pt2) are read as tvmc reads them, and run nothing."""

_EXAMPLES = """\
examples:
  usmp-opt net.py --passes=UnifiedStaticMemoryPlanner
      the planned module; without --passes, the module as it was read
  usmp-opt net.py --passes="AssignPoolInfo,OrderOperators" --print-after=AssignPoolInfo
      two passes, and on stderr the IR after the first of them
  usmp-opt model.tflite --passes=Pipeline{target=c} --print-after=FuseOperators -o planned.py
      all passes of usmp.build over a model
  usmp-opt net.py --passes="tirx.transform.BindTarget{target=c},UnifiedStaticMemoryPlanner" \\
      --pass-config tir.usmp.algorithm=exact --usmp-workspace-pools=fast,slow \\
      --usmp-workspace-pool-fast="size=4K"
      passes of TVM by their full names; options and pools as tvmc takes them
  usmp-opt - --split-input-file < several.py
      modules that lines "# -----" divide, one after the other

exit status: 0 if all went well, 1 after an error, which is on stderr."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit status: 0, 1 (error) or 130 (interrupted)."""
    parser = _parser()
    with silenced_native_log() as stderr:
        options = argparse.Namespace(stderr=stderr, start_seconds=time.monotonic())
        try:
            words = sys.argv[1:] if arguments is None else arguments
            parser.parse_args(split_pool_flags(words), options)
            with shown_warnings(options, stderr, "usmp-opt"):
                _run(options)
            sys.stdout.flush()
            return 0
        except KeyboardInterrupt:
            return _INTERRUPTED
        except BrokenPipeError:
            # The reader closed the pipe: discard unwritten output, so that no flush at exit fails.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except Exception as error:
            tell(error, bool(getattr(options, "extension", [])), stderr, "usmp-opt")
    return _FAILED


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="usmp-opt",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
        usage="%(prog)s [options] [FILE]",
    )
    parser.add_argument("--version", action="version", version=f"usmp {usmp.__version__}")
    parser.add_argument(
        "FILE", nargs="?", default="-", help="TVMScript or a model; - is stdin (default: -)"
    )
    parser.add_argument("-o", "--output", metavar="PATH", help="write the IR there, not to stdout")
    parser.add_argument(
        "--split-input-file",
        action="store_true",
        help=f'take the parts between lines "{SEPARATOR}" for a module each',
    )
    passes = parser.add_argument_group("passes")
    passes.add_argument(
        "--passes",
        default="",
        metavar="NAME{KEY=VALUE ...},...",
        help="passes in their order, with or without the usmp. of their names; those of TVM by "
        "their Python names, as relax.transform.FuseOps",
    )
    passes.add_argument(
        "--pass-config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a pass option, such as tir.usmp.algorithm=hill_climb; may be repeated",
    )
    passes.add_argument(
        "--disabled-pass",
        action="append",
        default=[],
        metavar="NAME,...",
        help="passes and steps of planning to leave out, as OverlapInputsAndOutputs; may be "
        "repeated",
    )
    passes.add_argument("--list-passes", action="store_true", help="print the passes and end")
    passes.add_argument(
        "--target",
        default="c",
        help="the targets of pools that name none",
    )
    add_extension_option(passes)
    shown = parser.add_argument_group("what is shown")
    for when in ("before", "after"):
        shown.add_argument(
            f"--print-{when}",
            action="append",
            default=[],
            metavar="NAME,...",
            help=f"print the IR to stderr {when} these passes, also inside of others",
        )
        shown.add_argument(
            f"--print-{when}-all", action="store_true", help=f"the same {when} each pass"
        )
    shown.add_argument(
        "--show-meta",
        action="store_true",
        help="print objects of attributes too, as pools, so that usmp-opt can read what it prints",
    )
    shown.add_argument(
        "--verify-each", action="store_true", help="check the IR at first and after each pass"
    )
    add_import_options(parser.add_argument_group("models"))
    add_pool_options(parser)
    add_help_all_option(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    if options.list_passes:
        from usmp.driver.opt.passes import described_passes

        print("\n".join(described_passes()))
        return
    load_extensions(options.extension)
    if options.FILE != "-":
        check_readable(options.FILE)
    if options.output is not None:
        check_output(options.output, options.FILE, "the IR", "the input")
    from usmp.driver.opt.input import read_modules
    from usmp.driver.options.pass_instruments import script_of

    modules = (_after_passes(mod, options) for mod in read_modules(options))
    text = f"\n{SEPARATOR}\n\n".join(f"{script_of(m, options.show_meta)}\n" for m in modules)
    if options.output is None:
        print(text, end="")
        return
    with written(options.output), open(options.output, "w", encoding="utf-8") as file:
        file.write(text)


def _after_passes(mod: IRModule, options: argparse.Namespace) -> IRModule:
    """Run the passes over a module, and return the result."""
    from tvm.ir.transform import PassContext, Sequential

    from usmp.current_context import entered_current_context
    from usmp.driver.opt.passes import parse_passes
    from usmp.driver.options.pass_instruments import instruments
    from usmp.objects.attributes.module_attributes import (
        CONSTANT_MEMORY_POOLS_ATTR,
        IO_MEMORY_POOL_ATTR,
        STATE_MEMORY_POOL_ATTR,
        WORKSPACE_MEMORY_POOLS_ATTR,
    )
    from usmp.objects.target.targets import parse_targets
    from usmp.passes import apply_passes
    from usmp.planning.io_pools import choose_io_pool
    from usmp.planning.options import planning_options
    from usmp.planning.session import planning_session
    from usmp.planning.state_pool import choose_state_pool

    targets = parse_targets(options.target)
    workspace, constants = memory_pools(options, targets)
    states = state_pool(options, targets)
    if workspace is not None:
        mod = WORKSPACE_MEMORY_POOLS_ATTR.put(mod, workspace)
    if constants is not None:
        mod = CONSTANT_MEMORY_POOLS_ATTR.put(mod, constants)
    if states is not None:
        states = choose_state_pool(states, workspace, targets.names)
        mod = STATE_MEMORY_POOL_ATTR.put(mod, states)
    # Assume that inputs and outputs are planned, because a pass may do so.
    io_pool = choose_io_pool(options.io_pool, workspace, constants, states, is_planned=True)
    if io_pool is not None:
        mod = IO_MEMORY_POOL_ATTR.put(mod, io_pool)
    settings, replaced = told_settings(options.pass_config)
    listed = [name for names in options.disabled_pass for name in names.split(",")]
    with pass_context(settings, [*listed, *replaced]), entered_current_context():
        # Parse passes inside the context, because a pipeline reads options in its constructor.
        passes = parse_passes(options.passes)
        watchers = instruments(options, mod)
        PassContext.current().override_instruments(watchers)
        with planning_session(planning_options().deadline(options.start_seconds)):
            mod = apply_passes(Sequential(passes, name="usmp-opt"), mod) if passes else mod
    unseen = [name for watcher in watchers for name in watcher.unseen()]
    if unseen:
        raise UsageError(
            f"{unseen[0]} did not run, so there is nothing to print; --print-after-all shows "
            "the names of those that do"
        )
    return mod


if __name__ == "__main__":
    sys.exit(main())
