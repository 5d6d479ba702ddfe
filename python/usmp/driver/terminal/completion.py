"""`tvmc completion`: print a shell script that completes commands, options and names of `tvmc`.

The script runs `tvmc` at every press of the tab key, through argcomplete.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from functools import partial
from typing import Any

from usmp.driver.terminal.help import add_command
from usmp.names import ALGORITHMS, BOARDS, CORES, OPTIONAL_PASSES, PASS_OPTIONS, TARGETS
from usmp.parts import PARTS

SHELLS = ("bash", "zsh", "fish")

_EXAMPLES = """\
  eval "$(tvmc completion bash)"        in ~/.bashrc
  eval "$(tvmc completion zsh)"         in ~/.zshrc, after compinit
  tvmc completion fish | source         in ~/.config/fish/config.fish"""

_MODELS = ("tflite", "onnx", "pt2")
_ENDINGS = {
    "compile": _MODELS,
    "plan": (*_MODELS, "tar"),
    "explore": _MODELS,
    "explain": (*_MODELS, "tar"),
    "run": ("tar",),
    "export-test": ("tar",),
    "info": (*_MODELS, "tar"),
    "check": (*_MODELS, "tar"),
}
"""Endings of the input files of each command."""


def add_completion_parser(commands: Any) -> None:
    """Add `tvmc completion` and its options."""
    parser = add_command(
        commands,
        "completion",
        print_completion,
        summary="print a script that lets the tab key complete tvmc",
        description="Print a script for a shell that completes commands, options, names, files.",
        examples=_EXAMPLES,
    )
    parser.add_argument("SHELL", choices=SHELLS, help=", ".join(SHELLS))


def print_completion(options: argparse.Namespace) -> None:
    """Carry out `tvmc completion`."""
    from argcomplete.shell_integration import shellcode

    # argcomplete has a single script for bash and zsh.
    shell = "fish" if options.SHELL == "fish" else "bash"
    print(shellcode(["tvmc"], shell=shell))


def complete(parser: argparse.ArgumentParser) -> None:
    """Print completions and end the process, if a shell runs `tvmc` for completion."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    import argcomplete

    (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for name, command in commands.choices.items():
        for action in command._actions:
            completer = _completer(name, action)
            if completer:
                action.completer = completer
    argcomplete.autocomplete(parser, always_complete_options=False)


def _completer(command: str, action: argparse.Action) -> Any:
    """Return the completer of an option's value; None if its choices or file names complete it."""
    from argcomplete.completers import ChoicesCompleter, FilesCompleter

    if action.dest == "FILE":
        return _named_files(FilesCompleter(_ENDINGS[command]))
    if action.dest == "target":
        return ChoicesCompleter(TARGETS)
    if action.dest == "target_c_mcpu":
        return ChoicesCompleter(CORES)
    if action.dest in ("BEFORE", "AFTER"):
        return FilesCompleter(("tar", "json"))
    if action.dest == "boards":
        return _boards
    if action.dest == "board":
        return ChoicesCompleter(BOARDS)
    if action.dest == "usmp_algorithm":
        return ChoicesCompleter(ALGORITHMS)
    if action.dest == "pass_config":
        return _pass_configs
    if action.dest == "disabled_pass":
        return partial(_listed, OPTIONAL_PASSES)
    return None


def _named_files(files: Any) -> Any:
    """Return a completer of [NAME=]FILE from a completer of FILE."""

    def complete(prefix: str, **kwargs: Any) -> list[str]:
        name, separator, path = prefix.partition("=")
        if not separator:
            return list(files(prefix, **kwargs))
        return [f"{name}={file}" for file in files(path, **kwargs)]

    return complete


def _listed(known: Iterable[str], prefix: str, **_: Any) -> list[str]:
    """Complete the last name of a list with commas."""
    before, comma, _name = prefix.rpartition(",")
    return [f"{before}{comma}{name}" for name in known if name not in before.split(",")]


def _boards(prefix: str, **_: Any) -> list[str]:
    """Complete the last board of a list with commas, or "all"."""
    return _listed([*BOARDS, *PARTS, *([] if "," in prefix else ["all"])], prefix)


def _pass_configs(prefix: str, **_: Any) -> list[str]:
    """Complete `NAME=`, and after a known name `NAME=VALUE`."""
    name, separator, _value = prefix.partition("=")
    if not separator or name not in PASS_OPTIONS:
        return [f"{known}=" for known in PASS_OPTIONS]
    return [f"{name}={value}" for value in PASS_OPTIONS[name].values]
