"""`tvmc micro` and `tvmc tune` of TVM 0.18: errors that name the replacing command lines."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from usmp.driver.errors import UsageError
from usmp.support.text.plain_text import printable
from usmp.tvm018 import MAPPED, find
from usmp.tvm018.commands import MICRO, PROJECT_OPTION, TUNE
from usmp.tvm018.model_formats import FORMAT_ENDINGS
from usmp.tvm018.old_name import OldName

_WORD = re.compile(r"[a-z][a-z-]*")
_HELP = frozenset(("-h", "--help"))
_MODEL, _ARCHIVE = "model", "model.tar"
"""Names in the folder of a project: the unpacked archive, and the archive itself."""

_COMMAND, _BOARD, _BOARD_FLAG = "tvmc micro", f"{PROJECT_OPTION} board", "--board="


@dataclass(frozen=True)
class MicroArguments:
    """The arguments of a command of `tvmc micro`.

    Parameters
    ----------
    positional
        arguments that are neither flags nor values of flags.
    flags
        names of the flags.
    options
        values of the project options, by name.
    """

    positional: list[str]
    flags: list[str]
    options: dict[str, str]

    def at(self, index: int, placeholder: str) -> str:
        """Return a positional argument, or the placeholder if there is none at this index."""
        return self.positional[index] if index < len(self.positional) else placeholder

    @property
    def board(self) -> OldName | None:
        """The row of the board in the table of old names, with the arguments that replace it."""
        return find(MICRO, _BOARD, self.options["board"]) if "board" in self.options else None

    @property
    def emulated_board(self) -> str:
        """The name of the board for `--board`; empty if the board is not emulated."""
        (option,) = self.build_options
        return option.removeprefix(_BOARD_FLAG) if option.startswith(_BOARD_FLAG) else ""

    @property
    def build_options(self) -> tuple[str, ...]:
        """The options of `tvmc compile` for the board."""
        row = self.board
        return row.to if row and row.verdict == MAPPED else ("--target=c -mcpu=CORE",)


def refuse_old_command(arguments: Sequence[str]) -> None:
    """Refuse `micro` and `tune`, which only TVM 0.18 had. Their help is the text of the error.

    Raises
    ------
    UsageError
        the command is refused; the last line of the message is the command line to use instead.
    SystemExit
        the help was printed.
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
    """Return the command (first word, not a value of `--config`) and the arguments after it."""
    for index, (previous, text) in enumerate(pairwise(["", *arguments]), 1):
        if _WORD.fullmatch(text) and previous != "--config":
            return text, list(arguments[index:])
    return "", []


def run_on_device(arguments: Sequence[str]) -> str:
    """Return the command line to use instead of `tvmc run --device micro`, for an error.

    Parameters
    ----------
    arguments
        arguments of the command line, without refused flags.
    """
    others = list(arguments[arguments.index("run") + 1 :])
    archive, flags = "ARCHIVE", _flags_with_values()
    for index, (previous, text) in enumerate(pairwise(["", *others])):
        if not text.startswith("-") and previous not in flags:
            archive = _archive_in(others.pop(index))
            break
    return _replacement([["tvmc", "run", archive, _target_option(archive), *others]])


def _flags_with_values() -> frozenset[str]:
    """Return the flags of `tvmc run` that take a value."""
    from usmp.driver.run.run import add_run_parser

    commands = argparse.ArgumentParser().add_subparsers()
    add_run_parser(commands)
    actions = commands.choices["run"]._actions
    return frozenset(
        flag for action in actions if action.nargs != 0 for flag in action.option_strings
    )


def _target_option(archive: str) -> str:
    """Return the option of `tvmc run` that selects the board of an archive, or a device."""
    from usmp.runtime import load_archive

    try:
        modules = load_archive(archive).metadata["modules"].values()
    except (OSError, ValueError):
        modules = ()
    boards = [module["board"] for module in modules if "board" in module]
    return f"{_BOARD_FLAG}{boards[0]}" if boards else "--serial=PORT"


def _archive_in(project: str) -> str:
    """Return the path of the archive in a project; `project` may also be an archive itself."""
    return project if project.endswith(".tar") else f"{project}/{_ARCHIVE}"


def _tune(arguments: Sequence[str]) -> list[str]:
    endings = tuple(FORMAT_ENDINGS.values())
    model = next((text for text in arguments if text.endswith(endings)), "MODEL")
    return [TUNE[0].sentence(), _replacement([["tvmc", "explore", model]])]


def _micro(arguments: Sequence[str]) -> list[str]:
    project_arguments = _parsed(arguments)
    subcommand = project_arguments.at(0, "")
    row = find(MICRO, f"{_COMMAND} {subcommand}") or find(MICRO, _COMMAND)
    about = [row.sentence()] if row else []
    lines = {"build": _build, "flash": _flash}.get(subcommand, _create)(project_arguments)
    return [*about, *_about_options(project_arguments), _replacement(lines)]


def _parsed(arguments: Sequence[str]) -> MicroArguments:
    parsed = MicroArguments([], [], {})
    flag = ""
    for argument in arguments:
        text = argument
        if argument.startswith("-"):
            flag, _, text = argument.partition("=")
            parsed.flags.append("--force" if flag == "-f" else flag)
        if flag == PROJECT_OPTION and text:
            name, _, parsed.options[name] = text.partition("=")
        elif flag == "--template-dir":
            # The value is the next argument, unless it follows a "=".
            flag = flag if argument == flag else ""
        elif text and not argument.startswith("-"):
            parsed.positional.append(text)
    return parsed


def _about_options(project_arguments: MicroArguments) -> list[str]:
    """Return a sentence about each flag and each project option."""
    rows = [(find(MICRO, flag), "") for flag in project_arguments.flags]
    for name, value in project_arguments.options.items():
        rows.append((find(MICRO, f"{PROJECT_OPTION} {name}", value), value))
    return [printable(row.sentence(value)) for row, value in rows if row]


def _create(project_arguments: MicroArguments) -> list[list[str]]:
    project, platform = project_arguments.at(1, "DIR"), project_arguments.at(3, "")
    archive, model = _archive_in(project), f"{project}/{_MODEL}"
    compiled = ["tvmc", "compile", "MODEL", *project_arguments.build_options, "-o", archive]
    if project_arguments.emulated_board:
        return [["mkdir", "-p", project], compiled, _run_emulated(project_arguments)]
    # Without `--reference`, only archives for a core or a board have expected outputs.
    compiled.append("--reference")
    # Arduino compiles only the folder src of a sketch.
    sources = [f"{project}/src"] if platform == "arduino" else []
    test = f"{(*sources, project)[0]}/test"
    return [
        ["mkdir", "-p", model, *sources],
        compiled,
        ["tar", "-xf", archive, "-C", model],
        ["tvmc", "export-test", archive, "-o", test],
    ]


def _build(project_arguments: MicroArguments) -> list[list[str]]:
    project, platform = project_arguments.at(1, "DIR"), project_arguments.at(2, "")
    if project_arguments.emulated_board:
        return [_run_emulated(project_arguments)]
    if platform == "zephyr":
        board = project_arguments.options.get("board", "BOARD")
        module = f"-DZEPHYR_EXTRA_MODULES={os.path.abspath(project)}/{_MODEL}"
        return [["west", "build", "-b", board, "-d", f"{project}/build", project, "--", module]]
    if platform == "arduino":
        library = f"--library={project}/{_MODEL}"
        return [["arduino-cli", "compile", "--fqbn=FQBN", library, project]]
    folder = f"{project}/build"
    return [["cmake", "-S", project, "-B", folder], ["cmake", "--build", folder]]


def _flash(project_arguments: MicroArguments) -> list[list[str]]:
    project, platform = project_arguments.at(1, "DIR"), project_arguments.at(2, "")
    if project_arguments.emulated_board:
        return [_run_emulated(project_arguments)]
    port = project_arguments.options.get("port", "PORT")
    tested = ["tvmc", "run", _archive_in(project), f"--serial={port}"]
    if platform == "zephyr":
        return [["west", "flash", "-d", f"{project}/build"], tested]
    if platform == "arduino":
        return [["arduino-cli", "upload", "--fqbn=FQBN", f"--port={port}", project], tested]
    return [tested]


def _run_emulated(project_arguments: MicroArguments) -> list[str]:
    archive = _archive_in(project_arguments.at(1, "DIR"))
    return ["tvmc", "run", archive, f"{_BOARD_FLAG}{project_arguments.emulated_board}"]


def _replacement(commands: Sequence[Sequence[str]]) -> str:
    """Return a line for a shell, quoted, so that no argument of the user can inject commands."""
    lines = [" ".join(shlex.quote(printable(text)) for text in command) for command in commands]
    return f"instead: {' && '.join(lines)}"
