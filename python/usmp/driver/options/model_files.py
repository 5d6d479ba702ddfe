"""The model files of a command line: [NAME=]FILE, once or several times."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError
from usmp.driver.options.import_options import import_arguments
from usmp.driver.output import check_output, check_readable
from usmp.driver.terminal.progress import ProgressCallback
from usmp.support.plain_text import shown

if TYPE_CHECKING:
    from tvm.ir import IRModule

_METHODS = ".pt2"
"""Of the files that can be methods of one module."""


@dataclass(frozen=True)
class ModelFile:
    """A model, and the name that the user gives it, if there is one."""

    path: str
    name: str | None = None

    @property
    def ending(self) -> str:
        return Path(self.path).suffix.lower()


def add_files_options(group: argparse._ActionsContainer, needs_model: bool) -> None:
    """Add the files, and what may be said of several."""
    group.add_argument(
        "FILE",
        nargs="+" if needs_model else "*",
        default=[],
        help="the model: a .tflite, .onnx or .pt2 file; several are one program, in which each is "
        "an entry, called as the file or, with NAME=FILE, as you say; for one of them "
        "alone, run the command with one FILE",
    )
    group.add_argument(
        "--shared-state",
        action="store_true",
        help="states of one name are one in all FILEs, as in methods of one PyTorch module; else "
        "each model has its own",
    )


def add_concurrent_option(group: argparse._ActionsContainer) -> None:
    """Add `--concurrent`."""
    group.add_argument(
        "--concurrent",
        action="append",
        default=[],
        metavar="ENTRY,ENTRY",
        help="entries that may run at once, so that they share no memory; may be repeated "
        "(default: one runs after the other, in the same memory)",
    )


def model_files(options: argparse.Namespace) -> list[ModelFile]:
    """The files that are named; that they are there is not checked."""
    return [_split(value) for value in options.FILE]


def check_model_files(options: argparse.Namespace) -> None:
    """Refuse what cannot be read, before the seconds that TVM takes to load.

    Raises
    ------
    UsageError
        a file is missing; there is one, and something is said of several; entries that may run at
        once are not two or more.
    """
    for file in model_files(options):
        check_readable(file.path)
    if options.shared_state and len(options.FILE) == 1:
        raise UsageError(
            "--shared-state is about states of several models; name two or more FILEs, or leave "
            "it out"
        )
    for value, names in zip(options.concurrent, concurrent_entries(options), strict=True):
        if len(set(names)) != len(names) or len(names) < 2 or "" in names:
            raise UsageError(
                f"--concurrent {shown(value)}: name two or more entries, each once, as in "
                "--concurrent encode,step"
            )


def concurrent_entries(options: argparse.Namespace) -> list[list[str]]:
    """Entries that may run at once, as `usmp.build` takes them."""
    return [[name.strip() for name in value.split(",")] for value in options.concurrent]


def note_one_program(options: argparse.Namespace, command: str, shown_as: str | None) -> None:
    """Say first that several models are one program, since the figures are those of all together.

    Parameters
    ----------
    command
        the one that runs, as "check".
    shown_as
        how results are printed to stdout; None if they are not. The line precedes text there, and
        goes to stderr beside formats for other programs.
    """
    files = [shown(file.path) for file in model_files(options)]
    if len(files) < 2:
        return
    line = (
        f"{len(files)} models in one program: {', '.join(files)}; to ask about one of "
        f"them alone, run tvmc {command} with one FILE"
    )
    if shown_as in ("table", "text", "markdown"):
        print(f"{line}\n" if shown_as == "markdown" else line)
    elif not options.quiet:
        print(line, file=options.stderr)


def check_is_none_of(path: str, options: argparse.Namespace, what: str) -> None:
    """Check as `check_output` that `what` can be written to `path`, and is none of the models.

    Raises
    ------
    UsageError
        it is one, or cannot be written.
    """
    for file in model_files(options):
        check_output(path, file.path, what)


def import_models(
    options: argparse.Namespace, stage: ProgressCallback
) -> IRModule | dict[str, IRModule]:
    """Import the models as the options say.

    Returns
    -------
    IRModule | dict[str, IRModule]
        One, or several by the names that they get.

    Raises
    ------
    UsageError
        two models get one name.
    UnsupportedModelError
        a file cannot be imported.
    ValueError
        a model has a name that C cannot have; an input or a size is none of the models, or
        `--input-shapes` or `--max` contradicts one of them.
    """
    import usmp

    files = model_files(options)
    arguments = import_arguments(options)
    if len(files) == 1 and files[0].name is None:
        stage(f"reading {files[0].path}")
        return usmp.import_model(files[0].path, **arguments)
    paths = _named(files)
    if options.shared_state and all(file.ending == _METHODS for file in files):
        # Read together, for only then it is known which of the buffers any of them changes.
        stage(f"reading {', '.join(paths.values())}")
        return usmp.import_model(paths, **arguments)
    from usmp.frontend.dynamic_sizes import AskedSizes
    from usmp.frontend.model_file import import_with_sizes

    asked = AskedSizes(
        arguments.pop("max_sizes"),
        is_for_one_model=len(paths) == 1,
        input_shapes=arguments.pop("input_shapes"),
    )
    models = {}
    for name, path in paths.items():
        stage(f"reading {path}")
        models[name] = import_with_sizes(path, asked, **arguments)
    asked.check_all_known()
    return models


def _split(value: str) -> ModelFile:
    """What [NAME=]FILE means: paths may have a "=" too."""
    name, separator, path = value.partition("=")
    if not separator or not path or os.sep in name or os.path.exists(value):
        return ModelFile(value)
    return ModelFile(path, name)


def _named(files: Sequence[ModelFile]) -> dict[str, str]:
    """The path of each model, by the name of the model."""
    from usmp.objects.entries import check_entries, entry_name

    paths: dict[str, str] = {}
    for file in files:
        name = entry_name(Path(file.path).stem) if file.name is None else file.name
        if name in paths:
            raise UsageError(
                f'{paths[name]} and {file.path}: both models are called "{shown(name)}"; name '
                f"them, as in {shown(name)}={paths[name]} {shown(name)}_2={file.path}"
            )
        paths[name] = file.path
    check_entries(list(paths))
    return paths
