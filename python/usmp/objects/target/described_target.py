"""A parser of targets as users write them: text, JSON, JSON files, dictionaries."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tvm.target import Target

from usmp.names import TARGET_OPTIONS, TARGETS
from usmp.support.text.known_names import unknown_name
from usmp.tvm018 import REFUSED, TARGET_OPTION_ROWS

OneTarget: TypeAlias = str | Target | Mapping[str, Any]

_LISTS = ("keys", "libs", "mattr")
"""Options whose values are lists."""

_OBJECT = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
"""A JSON object of a target, with its host as an inner object."""

_PIECE = re.compile(
    rf"{_OBJECT}|\{{.*\}}|-(?:keys|libs)=[^\s,]+(?:,[^\s,]+)*|,[+-]|,|[^,]", re.DOTALL
)
"""The pieces that commas between targets do not split: JSON, and lists in the text of a target."""

_ESCAPE = re.compile(r"""\\(?=[\s,'"])""")
"""A backslash before a blank, a comma or a quote, as CMake and shells leave it."""

_QUOTED_VALUE = re.compile(r"""=(['"])([^'"]*)\1""")

_JSON_FILE = ".json"
_MAX_FILE_BYTES = 1 << 16


@dataclass(frozen=True)
class DescribedTarget:
    """One target as a user described it.

    Parameters
    ----------
    kind
        kind of target such as "c", or the name of an accelerator.
    options
        options by name: strings, or JSON values.
    text
        the whole text, for errors.
    is_complete
        whether TVM may have written the target, with explicit default options.
    """

    kind: str
    options: Mapping[str, object]
    text: str
    is_complete: bool = False


def split_targets(targets: OneTarget | Sequence[OneTarget]) -> list[OneTarget]:
    """Split targets at commas, except in JSON and in lists such as "-mattr=+dsp,+fp" or
    "-keys=arm_cpu,cpu". A JSON list may have several targets. The path of a JSON file is
    replaced by the content of the file.

    Raises
    ------
    ValueError
        an argument that is not a target, or a file that cannot be read.
    """
    if isinstance(targets, Target | Mapping):
        return [targets]
    if isinstance(targets, str) and targets.lstrip().startswith("["):
        return [t if isinstance(t, str) else json.dumps(t) for t in _parsed_list(targets)]
    if isinstance(targets, str):
        parts = [""]
        for piece in _PIECE.findall(_unescaped(targets.strip())):
            if piece == ",":
                parts.append("")
            else:
                parts[-1] += piece
        return [_content(_unquoted(part.strip())) for part in parts]
    if not isinstance(targets, Sequence):
        problem = f'unknown target "{targets}"'
        raise ValueError(unknown_name(problem, targets, TARGETS, "Targets"))
    return [part for target in targets for part in split_targets(target)]


def _unescaped(text: str) -> str:
    """Return the text of targets without the quotes and escapes that build systems add."""
    if text.startswith("{"):
        return text
    text = _ESCAPE.sub("", text)
    is_quoted = len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]
    return text[1:-1] if is_quoted else text


def _unquoted(part: str) -> str:
    """Return the text of one target without quotes around values, as in "-mcpu='cortex-m4'"."""
    return part if part.startswith("{") else _QUOTED_VALUE.sub(r"=\2", part)


def described_target(target: OneTarget) -> DescribedTarget:
    """Parse one target.

    Raises
    ------
    ValueError
        damaged JSON, a missing kind, or words after the kind of a CPU target that are not options.
    """
    if isinstance(target, Target):
        return _of_fields(json.loads(str(target)), str(target))
    if isinstance(target, Mapping):
        return _of_fields(target, str(target))
    if target.startswith("{"):
        return _of_fields(_parsed_json(target), target)
    kind, *options = target.split() or [""]
    if kind not in TARGET_OPTION_ROWS:
        return DescribedTarget(kind, dict.fromkeys(options, ""), target)
    return DescribedTarget(kind, dict(_option(kind, word, target) for word in options), target)


def unknown_option(kind: str, option: str, text: str) -> ValueError:
    """Return the error about an unknown option of a target."""
    current = TARGET_OPTIONS.get(kind, ())
    rows = (row for row in TARGET_OPTION_ROWS[kind] if row.verdict != REFUSED)
    old = dict.fromkeys(row.name for row in rows)
    of_tvm = {name: f"{name}=" for name in old if name[1:] not in current}
    texts = {f"-{name}": f"-{name}=" for name in current}
    problem = f'target "{text}": unknown option "{option}"{_kind_with(option)}'
    for heading, known in (("Options", texts), ("Options of TVM 0.18", of_tvm)):
        if known:
            problem = unknown_name(problem, option.partition("=")[0], known, heading, texts=known)
    return ValueError(problem)


def _kind_with(option: str) -> str:
    """Return the words of an error about another kind of target that has the option; or ""."""
    name = option.lstrip("-").partition("=")[0]
    kinds = [kind for kind, names in TARGET_OPTIONS.items() if name in names]
    return f' (of target "{kinds[0]}")' if kinds else ""


def option_text(value: object) -> str:
    """Return the value of an option as it is written in the text of a target."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Mapping):
        return str(value.get("kind", ""))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)


def _content(part: str) -> str:
    """Return the content of a JSON file if the part is a path, else the part itself."""
    if part.startswith("{") or not part.endswith(_JSON_FILE):
        return part
    try:
        with Path(part).open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"--target={part}: the file cannot be read: {reason}") from error
    if len(content) > _MAX_FILE_BYTES:
        raise ValueError(f"--target={part}: the file has more than {_MAX_FILE_BYTES} bytes")
    return json.dumps(_parsed_json(content.decode(errors="replace"), part))


def _parsed_json(text: str, shown: str | None = None) -> Mapping[str, object]:
    shown = text if shown is None else shown
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f'unknown target "{shown}": it is no JSON: {error}') from error
    if not isinstance(fields, dict):
        raise ValueError(f'unknown target "{shown}": it is no JSON object, as {{"kind": "c"}}')
    return fields


def _parsed_list(text: str) -> Sequence[object]:
    try:
        parsed: list[object] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f'unknown target "{text}": it is no JSON: {error}') from error
    return parsed


def _of_fields(fields: Mapping[str, object], text: str) -> DescribedTarget:
    options = {str(name): value for name, value in fields.items()}
    kind = options.pop("kind", None)
    if not isinstance(kind, str):
        raise ValueError(f'unknown target "{text}": it has no kind, as {{"kind": "c"}}')
    return DescribedTarget(kind, options, text, is_complete=True)


def _option(kind: str, option: str, text: str) -> tuple[str, object]:
    """Return name and value of an option "-name=value"; "-name" has the value "1"."""
    name, separator, value = option.lstrip("-").partition("=")
    if not option.startswith("-") or not name:
        raise unknown_option(kind, option, text)
    if not separator:
        return name, "1"
    return name, value.split(",") if name in _LISTS else value
