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
from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    from tvm.ir import IRModule

_METHODS = ".pt2"
"""Ending of files that can be methods of a single PyTorch module."""


@dataclass(frozen=True)
class ModelFile:
    """The path of a model, and its name if the user gives one."""

    path: str
    name: str | None = None

    @property
    def ending(self) -> str:
        return Path(self.path).suffix.lower()


def add_files_option(group: argparse._ActionsContainer, needs_model: bool) -> None:
    """Add the files."""
    group.add_argument(
        "FILE",
        nargs="+" if needs_model else "*",
        default=[],
        help="the model, a .tflite, .onnx or .pt2 file; several files make one program, and NAME= "
        "names the entry of each",
    )


def add_entry_options(group: argparse._ActionsContainer) -> None:
    """Add `--shared-state` and `--concurrent`."""
    group.add_argument(
        "--shared-state",
        action="store_true",
        help="make states of one name in several models one state, as in methods of one PyTorch "
        "module",
    )
    group.add_argument(
        "--concurrent",
        action="append",
        default=[],
        metavar="ENTRY,ENTRY",
        help="entries that may run at once, so that they share no memory; may be repeated",
    )


def model_files(options: argparse.Namespace) -> list[ModelFile]:
    """Return the files of the command line, without checking that they exist."""
    return [_split(value) for value in options.FILE]


def check_model_files(options: argparse.Namespace) -> None:
    """Check the files and `--concurrent` early, because TVM takes seconds to load.

    Raises
    ------
    UsageError
        a file is missing, `--shared-state` has only one file, or `--concurrent` does not list two
        or more distinct entries.
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
    """Return the lists of entries that may run at once, as `usmp.build` takes them."""
    return [[name.strip() for name in value.split(",")] for value in options.concurrent]


def note_one_program(options: argparse.Namespace, command: str, shown_as: str | None) -> None:
    """Print a note that several models are one program, because all figures are for them together.

    Parameters
    ----------
    command
        name of the command, such as "check".
    shown_as
        format of the results on stdout; None if stdout has none. The note precedes text on stdout,
        and goes to stderr for other formats.
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
    """Check that `what` can be written to `path`, which must not be a model file.

    Raises
    ------
    UsageError
        the path is a model file, or see `check_output`.
    """
    for file in model_files(options):
        check_output(path, file.path, what)


def import_models(
    options: argparse.Namespace, stage: ProgressCallback
) -> IRModule | dict[str, IRModule]:
    """Import the models of the options, or return those that `options.imported_models` has.

    Returns
    -------
    IRModule | dict[str, IRModule]
        A single module, or modules by name.

    Raises
    ------
    UsageError
        two models have the same name.
    UnsupportedModelError
        a file cannot be imported.
    ValueError
        a name is no C identifier; an input or a size belongs to no model; or `--input-shapes` or
        `--max` contradicts a model.
    """
    if getattr(options, "imported_models", None) is None:
        options.imported_models = _imported(options, stage)
    models: IRModule | dict[str, IRModule] = options.imported_models
    return models


def _imported(
    options: argparse.Namespace, stage: ProgressCallback
) -> IRModule | dict[str, IRModule]:
    import usmp

    files = model_files(options)
    arguments = import_arguments(options)
    if len(files) == 1 and files[0].name is None:
        stage(f"reading {files[0].path}")
        return usmp.import_model(files[0].path, **arguments)
    paths = _named(files)
    if options.shared_state and all(file.ending == _METHODS for file in files):
        # Read the methods together, so that a buffer that any method changes is a state of all.
        stage(f"reading {', '.join(paths.values())}")
        return usmp.import_model(paths, **arguments)
    from usmp.frontend.dynamic_sizes import AskedSizes
    from usmp.frontend.model_file import import_with_sizes

    sizes = AskedSizes(
        arguments.pop("max_sizes"),
        is_for_one_model=len(paths) == 1,
        input_shapes=arguments.pop("input_shapes"),
    )
    models = {}
    for name, path in paths.items():
        stage(f"reading {path}")
        models[name] = import_with_sizes(path, sizes, **arguments)
    sizes.check_all_known()
    return models


def _split(value: str) -> ModelFile:
    """Parse [NAME=]FILE, where paths may contain a "=" too."""
    name, separator, path = value.partition("=")
    if not separator or not path or os.sep in name or os.path.exists(value):
        return ModelFile(value)
    return ModelFile(path, name)


def _named(files: Sequence[ModelFile]) -> dict[str, str]:
    """Return the paths of the models by name."""
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
