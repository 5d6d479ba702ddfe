"""`tvmc`: compile a model to planned C, and run the result on this host.

The functions are those of TVM's tvmc for Python::

    from usmp.driver import tvmc

    model = tvmc.load("model.tflite")
    package = tvmc.compile(model, target="c", package_path="model.tar")
    result = tvmc.run(package, device="cpu")
    print(result)
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import NoReturn

import usmp
from usmp.driver.build.compile import add_compile_parser
from usmp.driver.build.plan import add_plan_parser
from usmp.driver.explore.explore import add_explore_parser
from usmp.driver.inspect.check import add_check_parser
from usmp.driver.inspect.diff import add_diff_parser
from usmp.driver.inspect.explain import add_explain_parser
from usmp.driver.inspect.info import add_info_parser
from usmp.driver.inspect.list_command import add_list_parser
from usmp.driver.native_log import silenced_native_log
from usmp.driver.options.pass_config import use_current_options
from usmp.driver.options.pool_flags import split_pool_flags
from usmp.driver.python.functions import compile, load, run, tune
from usmp.driver.python.model import TVMCModel, TVMCPackage, TVMCResult
from usmp.driver.run.export_test import add_export_test_parser
from usmp.driver.run.run import add_run_parser
from usmp.driver.status import FAILED
from usmp.driver.terminal.completion import add_completion_parser, complete
from usmp.driver.terminal.error_message import tell
from usmp.driver.terminal.help import HelpFormatter, Parser
from usmp.driver.terminal.shown_warnings import shown_warnings
from usmp.driver.tvm018.arguments import no_attribute
from usmp.driver.tvm018.commands import refuse_old_command
from usmp.driver.tvm018.flags import current_arguments
from usmp.support.process.termination import postponed_signals, settle
from usmp.support.tvmc_exception import TVMCException, TVMCImportError
from usmp.tvm018.old_name import tell_all

__all__ = [
    "TVMCException",
    "TVMCImportError",
    "TVMCModel",
    "TVMCPackage",
    "TVMCResult",
    "compile",
    "load",
    "main",
    "run",
    "tune",
]

_EXAMPLES = """\
examples:
  tvmc compile model.tflite -o model.tar     C with planned memory
  tvmc run model.tar                         try it on this host
  tvmc plan model.tflite                     only say what memory it needs
  tvmc explain model.tflite                  why it needs that, and what would reduce it
  tvmc diff before.tar after.tar             what changed from one build to the next
  tvmc check model.tflite --max-ram 64K      whether it fits
  tvmc explore model.tflite                  compare ways to compile it
  tvmc info model.tflite                     its inputs, outputs and operators
  tvmc list                                  targets, boards, algorithms, pass options

tvmc COMMAND --help shows the options of a command, with examples.

exit status: 0 if all went well, 1 after an error (its message is on stderr),
2 if tvmc diff finds more growth than is allowed or tvmc check a model that does
not fit, 130 if interrupted, 143 if terminated. After an error no file is written."""


def __getattr__(name: str) -> NoReturn:
    raise no_attribute(f"module '{__name__}'", name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit status (see `usmp.driver.status`)."""
    parser = _parser()
    complete(parser)
    with silenced_native_log() as stderr:
        options = argparse.Namespace(start_seconds=time.monotonic())
        try:
            if isinstance(sys.stdout, io.TextIOWrapper):
                # Replace characters that the terminal lacks, so that names cannot make it fail.
                sys.stdout.reconfigure(errors="replace")
            arguments = sys.argv[1:] if arguments is None else arguments
            refuse_old_command(arguments)
            current, old_flags = current_arguments(split_pool_flags(arguments))
            options.stderr = stderr
            parser.parse_args(current, options)
            old_options = use_current_options(options)
            command: Callable[[argparse.Namespace], int | None] = options.command
            with shown_warnings(options, stderr):
                tell_all([*old_flags, *old_options])
                status = command(options) or 0
            sys.stdout.flush()
            settle(status)
            return status
        except BrokenPipeError:
            pass  # The reader of the output, such as `head`, has ended: do not print an error.
        except Exception as error:
            # Print no traceback.
            with postponed_signals():
                tell(error, bool(getattr(options, "extension", [])), stderr)
                settle(FAILED)
        _abandon_unwritable_stdout()
        # Objects of a failed command may log when they are freed: free them while it is silenced.
        gc.collect()
    return FAILED


_main = main
"""Name of the entry point in scripts of TVM 0.18."""


def _abandon_unwritable_stdout() -> None:
    """Discard unwritten output if stdout fails, because Python would report it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def command_parsers() -> dict[str, Parser]:
    """Return the parser of each command."""
    (commands,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(commands.choices)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="tvmc",
        description="Compile a model to C with planned memory; run it.",
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"usmp {usmp.__version__}")
    parser.set_defaults(command=lambda options: parser.print_help())
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_compile_parser(commands)
    add_plan_parser(commands)
    add_explain_parser(commands)
    add_explore_parser(commands)
    add_run_parser(commands)
    add_export_test_parser(commands)
    add_diff_parser(commands)
    add_check_parser(commands)
    add_info_parser(commands)
    add_list_parser(commands)
    add_completion_parser(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
