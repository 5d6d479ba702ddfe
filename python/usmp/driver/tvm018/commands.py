"""`tvmc micro` and `tvmc tune` of TVM 0.18: errors with the command lines that take their place."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from usmp.driver.errors import UsageError
from usmp.support.plain_text import printable
from usmp.tvm018 import MAPPED, find
from usmp.tvm018.commands import MICRO, PROJECT_OPTION, TUNE
from usmp.tvm018.model_formats import FORMAT_ENDINGS
from usmp.tvm018.old_name import OldName

_WORD = re.compile(r"[a-z][a-z-]*")
_HELP = frozenset(("-h", "--help"))
_MODEL, _ARCHIVE = "model", "model.tar"
"""In the folder of a project: the unpacked archive, and the archive."""

_COMMAND, _BOARD, _BOARD_FLAG = "tvmc micro", f"{PROJECT_OPTION} board", "--board="


@dataclass(frozen=True)
class MicroArguments:
    """The arguments of a command of `tvmc micro`.

    Parameters
    ----------
    positional
        all that are neither flags nor values of flags.
    flags
        names of flags.
    options
        values of project options, by name.
    """

    positional: list[str]
    flags: list[str]
    options: dict[str, str]

    def at(self, index: int, placeholder: str) -> str:
        """Return a positional argument, or the placeholder if there is none at this index."""
        return self.positional[index] if index < len(self.positional) else placeholder

    @property
    def board(self) -> OldName | None:
        """The row of the board that was given, which has the arguments that take its place."""
        return find(MICRO, _BOARD, self.options["board"]) if "board" in self.options else None

    @property
    def emulated_board(self) -> str:
        """What `--board` calls the board; empty if it is no board here."""
        (option,) = self.build_options
        return option.removeprefix(_BOARD_FLAG) if option.startswith(_BOARD_FLAG) else ""

    @property
    def build_options(self) -> tuple[str, ...]:
        """The options of `tvmc compile` for the board."""
        row = self.board
        return row.to if row and row.verdict == MAPPED else ("--target=c -mcpu=CORE",)


def refuse_old_command(arguments: Sequence[str]) -> None:
    """Refuse the commands of TVM 0.18 that this one lacks; their help is what the error says.

    Raises
    ------
    UsageError
        for `micro` and `tune`; the last line of the message is the command line to write instead.
    SystemExit
        after the help.
    """
    command, following = split_command(arguments)
    answer = {"micro": _micro, "tune": _tune}.get(command)
    if answer is None:
        return
    lines = answer([text for text in following if text not in _HELP])
    if _HELP.isdisjoint(arguments):
        raise UsageError(";\n".join(lines))
    print("\n".join(lines))
    raise SystemExit(0)


def split_command(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command, the first word that is no value of the flag before it, and all that
    follows it."""
    for index, (before, text) in enumerate(pairwise(["", *arguments]), 1):
        if _WORD.fullmatch(text) and before != "--config":
            return text, list(arguments[index:])
    return "", []


def run_on_device(arguments: Sequence[str]) -> str:
    """Return the line of an error about `tvmc run --device micro`: the command line to write
    instead.

    Parameters
    ----------
    arguments
        of the command line, without flags that are refused.
    """
    others = list(arguments[arguments.index("run") + 1 :])
    archive, flags = "ARCHIVE", _flags_with_values()
    for index, (before, text) in enumerate(pairwise(["", *others])):
        if not text.startswith("-") and before not in flags:
            archive = _archive_in(others.pop(index))
            break
    return _instead([["tvmc", "run", archive, _place_of(archive), *others]])


def _flags_with_values() -> frozenset[str]:
    """Return the flags of `tvmc run` that a value follows."""
    from usmp.driver.run.run import add_run_parser

    commands = argparse.ArgumentParser().add_subparsers()
    add_run_parser(commands)
    actions = commands.choices["run"]._actions
    return frozenset(
        flag for action in actions if action.nargs != 0 for flag in action.option_strings
    )


def _place_of(archive: str) -> str:
    """Return the option of `tvmc run` about where an archive runs that is not for this host."""
    from usmp.runtime import load_archive

    try:
        modules = load_archive(archive).metadata["modules"].values()
    except (OSError, ValueError):
        modules = ()
    boards = [module["board"] for module in modules if "board" in module]
    return f"{_BOARD_FLAG}{boards[0]}" if boards else "--serial=PORT"


def _archive_in(project: str) -> str:
    """Return the archive in a project, whose path may also be that of an archive."""
    return project if project.endswith(".tar") else f"{project}/{_ARCHIVE}"


def _tune(arguments: Sequence[str]) -> list[str]:
    endings = tuple(FORMAT_ENDINGS.values())
    model = next((text for text in arguments if text.endswith(endings)), "MODEL")
    return [TUNE[0].sentence(), _instead([["tvmc", "explore", model]])]


def _micro(arguments: Sequence[str]) -> list[str]:
    given = _parsed(arguments)
    subcommand = given.at(0, "")
    row = find(MICRO, f"{_COMMAND} {subcommand}") or find(MICRO, _COMMAND)
    about = [row.sentence()] if row else []
    lines = {"build": _build, "flash": _flash}.get(subcommand, _create)(given)
    return [*about, *_about_options(given), _instead(lines)]


def _parsed(arguments: Sequence[str]) -> MicroArguments:
    given = MicroArguments([], [], {})
    flag = ""
    for argument in arguments:
        text = argument
        if argument.startswith("-"):
            flag, _, text = argument.partition("=")
            given.flags.append("--force" if flag == "-f" else flag)
        if flag == PROJECT_OPTION and text:
            name, _, given.options[name] = text.partition("=")
        elif flag == "--template-dir":
            # Its value is the next argument, if not this one's.
            flag = flag if argument == flag else ""
        elif text and not argument.startswith("-"):
            given.positional.append(text)
    return given


def _about_options(given: MicroArguments) -> list[str]:
    """Return a sentence about each flag and each project option."""
    rows = [(find(MICRO, flag), "") for flag in given.flags]
    for name, value in given.options.items():
        rows.append((find(MICRO, f"{PROJECT_OPTION} {name}", value), value))
    return [printable(row.sentence(value)) for row, value in rows if row]


def _create(given: MicroArguments) -> list[list[str]]:
    project, platform = given.at(1, "DIR"), given.at(3, "")
    archive, model = _archive_in(project), f"{project}/{_MODEL}"
    compiled = ["tvmc", "compile", "MODEL", *given.build_options, "-o", archive]
    if given.emulated_board:
        return [["mkdir", "-p", project], compiled, _run_emulated(given)]
    # Other archives than those for a core have no outputs to expect without.
    compiled.append("--reference")
    # A sketch consists of what lies in its folder src.
    sources = [f"{project}/src"] if platform == "arduino" else []
    test = f"{(*sources, project)[0]}/test"
    return [
        ["mkdir", "-p", model, *sources],
        compiled,
        ["tar", "-xf", archive, "-C", model],
        ["tvmc", "export-test", archive, "-o", test],
    ]


def _build(given: MicroArguments) -> list[list[str]]:
    project, platform = given.at(1, "DIR"), given.at(2, "")
    if given.emulated_board:
        return [_run_emulated(given)]
    if platform == "zephyr":
        board = given.options.get("board", "BOARD")
        module = f"-DZEPHYR_EXTRA_MODULES={os.path.abspath(project)}/{_MODEL}"
        return [["west", "build", "-b", board, "-d", f"{project}/build", project, "--", module]]
    if platform == "arduino":
        library = f"--library={project}/{_MODEL}"
        return [["arduino-cli", "compile", "--fqbn=FQBN", library, project]]
    folder = f"{project}/build"
    return [["cmake", "-S", project, "-B", folder], ["cmake", "--build", folder]]


def _flash(given: MicroArguments) -> list[list[str]]:
    project, platform = given.at(1, "DIR"), given.at(2, "")
    if given.emulated_board:
        return [_run_emulated(given)]
    port = given.options.get("port", "PORT")
    tested = ["tvmc", "run", _archive_in(project), f"--serial={port}"]
    if platform == "zephyr":
        return [["west", "flash", "-d", f"{project}/build"], tested]
    if platform == "arduino":
        return [["arduino-cli", "upload", "--fqbn=FQBN", f"--port={port}", project], tested]
    return [tested]


def _run_emulated(given: MicroArguments) -> list[str]:
    archive = _archive_in(given.at(1, "DIR"))
    return ["tvmc", "run", archive, f"{_BOARD_FLAG}{given.emulated_board}"]


def _instead(commands: Sequence[Sequence[str]]) -> str:
    """Return a line for a shell; no argument of the user does anything else there or on screen."""
    lines = [" ".join(shlex.quote(printable(text)) for text in command) for command in commands]
    return f"instead: {' && '.join(lines)}"
