"""`tvmc`: compile a model to planned C, and run the result on this host."""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version

from usmp.driver.compile import add_compile_parser
from usmp.driver.errors import UsageError
from usmp.driver.native_log import silenced_native_log
from usmp.driver.pool_flags import with_pool_names_apart
from usmp.driver.run import add_run_parser

_LONGEST_MESSAGE = 1000


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage as every other error: one line, exit status 1."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status is 0, or 1 after one line on stderr."""
    with silenced_native_log() as stderr:
        try:
            if isinstance(sys.stdout, io.TextIOWrapper):
                # A name in a model that this terminal cannot show is no reason to fail.
                sys.stdout.reconfigure(errors="replace")
            given = sys.argv[1:] if arguments is None else arguments
            options = _parser().parse_args(with_pool_names_apart(given))
            command: Callable[[argparse.Namespace], None] = options.command
            command(options)
            sys.stdout.flush()
        except KeyboardInterrupt:
            print("tvmc: interrupted", file=stderr)
        except BrokenPipeError:
            pass  # Whoever read our output has seen enough; there is nobody left to tell.
        except Exception as error:
            # Whatever goes wrong, the user gets one line that says so, and no traceback.
            print(f"tvmc: error: {_one_line(error)}", file=stderr)
        else:
            return 0
        _abandon_unwritable_stdout()
        # What failed half-way logs when it goes; let it go while nobody listens.
        gc.collect()
    return 1


def _abandon_unwritable_stdout() -> None:
    """Python writes what is left at exit; what cannot be written then would be a second error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="tvmc", description="Compile a model to C with planned memory; run it.")
    parser.add_argument("--version", action="version", version=f"usmp {version('usmp')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_compile_parser(commands)
    add_run_parser(commands)
    return parser


def _one_line(error: Exception) -> str:
    """The first paragraph: what follows it, TVM adds for those who debug TVM."""
    text = " ".join(str(error).strip().split("\n\n")[0].split()) or type(error).__name__
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]} ..."


if __name__ == "__main__":
    sys.exit(main())
