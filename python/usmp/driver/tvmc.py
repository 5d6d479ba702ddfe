"""`tvmc`: compile a model to planned C, and run the result on this host."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version

from usmp.driver.compile import add_compile_parser
from usmp.driver.errors import UsageError
from usmp.driver.run import add_run_parser


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage as every other error: one line, exit status 1."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status is 0, or 1 after one line on stderr."""
    try:
        options = _parser().parse_args(arguments)
        command: Callable[[argparse.Namespace], None] = options.command
        command(options)
    except KeyboardInterrupt:
        print("tvmc: interrupted", file=sys.stderr)
        return 1
    except Exception as error:
        # Whatever goes wrong, the user gets one line that says so, and no traceback.
        print(f"tvmc: error: {_one_line(error)}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="tvmc", description="Compile a model to C with planned memory; run it.")
    parser.add_argument("--version", action="version", version=f"usmp {version('usmp')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_compile_parser(commands)
    add_run_parser(commands)
    return parser


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
