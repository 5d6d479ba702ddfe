"""Arguments and names of TVM 0.18 in Python, which are accepted or refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from usmp.driver.errors import UsageError
from usmp.driver.tvm018.flags import check_none_refused, split_values
from usmp.support.text.known_names import unknown_name
from usmp.tvm018 import ACCEPTED, SECTIONS, OldName, find
from usmp.tvm018.model_formats import FORMAT_ENDINGS, MODEL_FORMAT
from usmp.tvm018.old_name import WrittenName, tell_all
from usmp.tvm018.tvmc_python import TVMC_NAMES


def check_old_arguments(function: str, arguments: Mapping[str, object]) -> None:
    """Warn about arguments that only TVM 0.18 had.

    Parameters
    ----------
    function
        name of the calling function of `usmp.driver.tvmc`.
    arguments
        arguments to look up in the tables of TVM 0.18, by name. False values are ignored.

    Raises
    ------
    UsageError
        arguments are refused; the message names all of them.
    TypeError
        an argument is unknown, here and in TVM 0.18.
    """
    rows = SECTIONS[f"tvmc.{function}"]
    known = {row.name for row in rows}
    for name in arguments:
        if name not in known:
            raise TypeError(f"tvmc.{function}() got an unexpected keyword argument '{name}'")
    old_names = [
        WrittenName(row, text)
        for name, value in arguments.items()
        for text in _texts(value, _arity(rows, name))
        if (row := find(rows, name, text)) is not None
    ]
    check_none_refused(old_names, f"tvmc.{function}: ")
    tell_all(old_names)


def _arity(rows: Sequence[OldName], name: str) -> str:
    return next(row.arity for row in rows if row.name == name)


def _texts(value: object, arity: str) -> list[str]:
    """Return the values of an argument as on the command line; none for a false value."""
    if not value:
        return []
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts(item, arity)]
    if isinstance(value, str):
        return split_values(arity, value)
    # Leave out the text of True, of an object or of a function, which would not help a reader.
    return [str(value) if isinstance(value, int) and value is not True else ""]


def check_format(file: str | Path, model_format: str) -> None:
    """Raise UsageError if a format is not supported, or the file has another format's ending."""
    row = find(MODEL_FORMAT, MODEL_FORMAT[0].name, model_format, [str(file)])
    if row is not None and row.verdict == ACCEPTED:
        return
    problem = f'{file}: the file is not of format "{model_format}"'
    if row is not None:
        raise UsageError(f"{problem}; {row.reason}")
    texts = {name: f"{name} ({ending})" for name, ending in FORMAT_ENDINGS.items()}
    raise UsageError(unknown_name(problem, model_format, texts, "Formats", texts=texts))


def no_attribute(owner: str, name: str, prefix: str = "") -> AttributeError:
    """Return the error for a missing attribute, with the reason if TVM 0.18 had it.

    Parameters
    ----------
    owner
        description of the object or module, such as "module 'usmp.driver.tvmc'".
    name
        name of the attribute.
    prefix
        prefix of the name in the table of old names, such as "TVMCModel.".
    """
    row = find(TVMC_NAMES, f"{prefix}{name}")
    reason = "" if row is None else f": {row.reason}"
    return AttributeError(f"{owner} has no attribute '{name}'{reason}")
