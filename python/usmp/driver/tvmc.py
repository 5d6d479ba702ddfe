"""`tvmc`: compile a model to planned C, and run the result on this host.

The functions are those that TVM's tvmc had for Python::

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
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TextIO

import usmp
from usmp.driver.compile import add_compile_parser
from usmp.driver.completion import add_completion_parser, complete
from usmp.driver.functions import compile, load, run
from usmp.driver.help import HelpFormatter, Parser
from usmp.driver.info import add_info_parser
from usmp.driver.list_command import add_list_parser
from usmp.driver.model import TVMCModel, TVMCPackage, TVMCResult
from usmp.driver.native_log import silenced_native_log
from usmp.driver.plan import add_plan_parser
from usmp.driver.pool_flags import with_pool_names_apart
from usmp.driver.run import add_run_parser
from usmp.plain_text import shown
from usmp.termination import postponed_signals, settle

__all__ = ["TVMCModel", "TVMCPackage", "TVMCResult", "compile", "load", "main", "run"]

_LONGEST_PART = 1000
_FAILED = 1

_EXAMPLES = """\
examples:
  tvmc compile model.tflite -o model.tar     C with planned memory
  tvmc run model.tar                         try it on this host
  tvmc plan model.tflite                     only say what memory it needs
  tvmc info model.tflite                     its inputs, outputs and operators
  tvmc list                                  targets, boards, algorithms, pass options

tvmc COMMAND --help shows the options of a command, with examples.

exit status: 0 if all went well, 1 after an error, which is one line on stderr,
130 if interrupted, 143 if terminated. A command that fails writes no file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status is 0, or 1 after one line on stderr."""
    parser = _parser()
    complete(parser)
    options = argparse.Namespace()
    with silenced_native_log() as stderr:
        try:
            if isinstance(sys.stdout, io.TextIOWrapper):
                # A name in a model that this terminal cannot show is no reason to fail.
                sys.stdout.reconfigure(errors="replace")
            given = with_pool_names_apart(sys.argv[1:] if arguments is None else arguments)
            options.stderr = stderr
            parser.parse_args(given, options)
            command: Callable[[argparse.Namespace], None] = options.command
            command(options)
            sys.stdout.flush()
            settle(0)
            return 0
        except BrokenPipeError:
            pass  # Whoever read our output has seen enough; there is nobody left to tell.
        except Exception as error:
            # Whatever goes wrong, the user gets one line that says so, and no traceback.
            with postponed_signals():
                _tell(error, bool(getattr(options, "extension", [])), stderr)
                settle(_FAILED)
        _abandon_unwritable_stdout()
        # What failed half-way logs when it goes; let it go while nobody listens.
        gc.collect()
    return _FAILED


def _tell(error: Exception, has_extension: bool, stderr: TextIO) -> None:
    """Say what went wrong, and where if it is in Python of the user."""
    from usmp.driver.user_code import place_in_user_code, wants_backtrace

    place = place_in_user_code(error) if has_extension else None
    line = _one_line(error)
    if wants_backtrace():
        traceback.print_exception(error, file=stderr)
    if place:
        advice = "" if wants_backtrace() else "; TVM_BACKTRACE=1 shows the traceback"
        line = f"{line} ({place}{advice})"
    print(f"tvmc: error: {line}", file=stderr, flush=True)


def _abandon_unwritable_stdout() -> None:
    """Python writes what is left at exit; what cannot be written then would be a second error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    add_run_parser(commands)
    add_info_parser(commands)
    add_list_parser(commands)
    add_completion_parser(commands)
    return parser


def _one_line(error: Exception) -> str:
    """The first paragraph: what follows it, TVM adds for those who debug TVM.

    Its last line says what to do; what is before it may be long, as a list of many pools is.
    """
    *lines, last = _text(error).strip().split("\n\n")[0].split("\n")
    parts = (" ".join(" ".join(lines).split()), " ".join(last.split()))
    return " ".join(_shortened(part) for part in parts if part) or type(error).__name__


def _text(error: Exception) -> str:
    """What the error says, of a file as every command of the system would."""
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    from tempfile import gettempdir

    is_temporary = str(error.filename).startswith(gettempdir())
    advice = "; TMPDIR names another folder for temporary files" if is_temporary else ""
    return f"{error.filename}: {error.strerror}{advice}"


def _shortened(text: str) -> str:
    """The text for a terminal, long names without their middles; a long text without its end."""
    text = re.sub(r"\S+", lambda word: shown(word[0]), text)
    return text if len(text) <= _LONGEST_PART else f"{text[:_LONGEST_PART]} ..."


if __name__ == "__main__":
    sys.exit(main())
