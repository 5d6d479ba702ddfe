"""Build one configuration of a sweep in a process, perhaps on another computer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from usmp.driver.errors import UsageError
from usmp.driver.options.model_files import ModelFile
from usmp.support.compatibility import CompatibilityNote, CompatibilityWarning
from usmp.support.deadline import Deadline
from usmp.support.process.compiler_lock import compiler_lock

NOTES = "notes"


def shared_data(
    version: str,
    models: list[ModelFile],
    contents: list[bytes],
    layout: bytes | None,
    sent: bool,
    search_seconds: float | None = None,
) -> dict[str, Any]:
    """Return the data that all configurations share, as plain data that can be sent.

    Parameters
    ----------
    version
        version of usmp, which the worker must have too.
    models, contents
        the model files and their bytes.
    layout
        bytes of the state layout, if there is one.
    sent
        whether the worker writes the files first, because it may be on another computer.
    search_seconds
        time that each configuration may search, in seconds from the start of its build.
    """
    return {
        "version": version,
        "models": [(model.path, model.name) for model in models],
        "contents": contents if sent else None,
        "layout": layout if sent else None,
        "search_seconds": search_seconds,
    }


def evaluate(shared: Mapping[str, Any], arguments: tuple[str, ...]) -> dict[str, Any]:
    """Build a configuration, and return `Result.as_json` with notes about TVM 0.18 at key `NOTES`.

    Parameters
    ----------
    shared
        result of `shared_data`.
    arguments
        arguments of `tvmc compile`, without files.

    Raises
    ------
    UsageError
        the worker has another version of usmp.
    """
    import usmp

    if usmp.__version__ != shared["version"]:
        raise UsageError(
            f"the worker has usmp {usmp.__version__}, not {shared['version']}; install the same"
        )
    with _collected_notes() as notes:
        result = _evaluate(shared, arguments)
    return {**result, NOTES: notes}


def tell_notes(result: dict[str, Any]) -> None:
    """Remove the notes from a result of `evaluate`, and issue them as warnings."""
    for text, changes_meaning in result.pop(NOTES, ()):
        category = CompatibilityWarning if changes_meaning else CompatibilityNote
        warnings.warn(text, category, stacklevel=2)


@contextmanager
def _collected_notes() -> Iterator[list[tuple[str, bool]]]:
    """Yield a list that collects pairs: a compatibility note, and whether a meaning changes."""
    notes: list[tuple[str, bool]] = []
    show = warnings.showwarning

    def tell(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, CompatibilityNote):
            notes.append((str(message), category is CompatibilityWarning))
        else:
            show(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", CompatibilityNote)
        warnings.showwarning = tell
        yield notes


def _evaluate(shared: Mapping[str, Any], arguments: tuple[str, ...]) -> dict[str, Any]:
    from usmp.driver.options.build_options import build_model
    from usmp.driver.options.build_words import parse_build
    from usmp.driver.terminal.progress import silent
    from usmp.exploration.result import Result

    try:
        options = parse_build(arguments)
        options.output = None
        with _files(shared, options) as renamed:
            try:
                # Take the lock, because a worker of a cluster may have several threads.
                with compiler_lock:
                    if shared["search_seconds"] is not None:
                        options.deadline = Deadline(time.monotonic() + shared["search_seconds"])
                    factory = build_model(options, silent, compare_workspace_io=False)
                from usmp.exploration.measure import measure

                return measure(factory).as_json()
            except Exception as error:
                return Result(*_failure(error, renamed)).as_json()
    except Exception as error:
        return Result(*_failure(error, {})).as_json()


@contextmanager
def _files(shared: Mapping[str, Any], options: Any) -> Iterator[dict[str, str]]:
    """Set the models in the options, and write the files if they were sent.

    Yield a dict: path of a written file on the worker -> path of the user's file.
    """
    from usmp.support.process.temporary_folder import temporary_folder

    if shared["contents"] is None:
        options.FILE = [_argument(path, name) for path, name in shared["models"]]
        yield {}
        return
    with temporary_folder() as folder:
        renamed: dict[str, str] = {}
        options.FILE = []
        models = zip(shared["models"], shared["contents"], strict=True)
        for number, ((path, name), content) in enumerate(models):
            file = folder / str(number) / Path(path).name
            file.parent.mkdir()
            file.write_bytes(content)
            renamed[str(file)] = path
            options.FILE.append(_argument(str(file), name))
        if shared["layout"] is not None:
            file = folder / "layout" / Path(options.state_layout).name
            file.parent.mkdir()
            file.write_bytes(shared["layout"])
            renamed[str(file)] = options.state_layout
            options.state_layout = str(file)
        yield renamed


def _argument(path: str, name: str | None) -> str:
    return path if name is None else f"{name}={path}"


def _failure(error: Exception, renamed: Mapping[str, str]) -> tuple[str, str]:
    """Return the outcome, and its reason in one line."""
    from usmp.algorithms.does_not_fit import DoesNotFitError
    from usmp.driver.terminal.error_message import one_line
    from usmp.exploration.result import DOES_NOT_FIT, FAILED, REFUSED

    text = one_line(error)
    for here, there in renamed.items():
        text = text.replace(here, there)
    if isinstance(error, DoesNotFitError):
        needed, available = error.needed_bytes, error.available_bytes
        if needed is None or available is None:
            return DOES_NOT_FIT, text
        at_least = "" if error.is_exact else "at least "
        return DOES_NOT_FIT, f"{at_least}{needed} bytes are needed, and there are {available}"
    is_of_the_user = isinstance(error, (ValueError, OSError)) and not _is_fault(error)
    return (REFUSED if is_of_the_user else FAILED), text


def _is_fault(error: Exception) -> bool:
    from usmp.support.errors import FaultError

    return isinstance(error, FaultError)
