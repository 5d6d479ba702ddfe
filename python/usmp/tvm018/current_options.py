"""Current names for TVM 0.18's options of a PassContext."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from usmp.names import LIST_TYPE, PASS_OPTIONS
from usmp.tvm018.old_name import REFUSED, WrittenName, find
from usmp.tvm018.pass_options import (
    BESIDE_ENABLE,
    CMSIS_NN_CONFIG,
    DISABLED_PASS,
    ENABLE,
    PASS_CONFIGS,
    RENAMED_CONFIGS,
)

_ROWS = (*PASS_CONFIGS, *RENAMED_CONFIGS)
_NAMES = {row.name for row in _ROWS}


@dataclass(frozen=True)
class CurrentOptions:
    """The options of a PassContext with current names.

    Parameters
    ----------
    options
        name -> value.
    disabled_pass
        passes that replaced options leave out.
    old
        all replaced or refused options.
    """

    options: dict[str, object]
    disabled_pass: list[str] = field(default_factory=list)
    old: list[WrittenName] = field(default_factory=list)


def current_options(options: Mapping[str, object]) -> CurrentOptions:
    """Replace old names, mostly of TVM 0.18, in the options of a PassContext.

    `relay.ext.cmsisnn.options` stays, with its core as value, because the target needs it.

    Parameters
    ----------
    options
        name -> value, as in a PassContext or on a command line.
    """
    current: dict[str, object] = {}
    replacements = CurrentOptions({})
    old = replacements.old
    for key, value in options.items():
        name = str(key)
        row = find(_ROWS, name, setting_text(value)) if name in _NAMES else None
        if row is None or (name == CMSIS_NN_CONFIG and _is_core(value)):
            current[name] = value
            continue
        old.append(WrittenName(row, setting_text(value)))
        if name == CMSIS_NN_CONFIG:
            current[name] = cmsis_nn_core(value)
        else:
            for setting in row.to:
                _replace(setting, value, replacements)
    if any(one.row.name == ENABLE for one in old):
        for row in BESIDE_ENABLE:
            if row.name in current:
                old.append(WrittenName(row, setting_text(current.pop(row.name))))
    for name, value in current.items():
        both = replacements.options.get(name)
        if isinstance(both, list):
            current[name] = [*both, *words_of(value)]
    return replace(replacements, options={**replacements.options, **current})


def _replace(setting: str, value: object, replacements: CurrentOptions) -> None:
    """Add a setting that replaces an option: "NAME" of an option with the same value, or
    "NAME=VALUE" of an option or of `disabled_pass`."""
    name, separator, text = setting.partition("=")
    if name == DISABLED_PASS:
        replacements.disabled_pass.append(text)
    elif separator and PASS_OPTIONS[name].type_name == LIST_TYPE:
        words = replacements.options.setdefault(name, [])
        assert isinstance(words, list)
        words.append(text)
    else:
        replacements.options[name] = text if separator else value


def words_of(value: object) -> list[str]:
    """Return the words of an option of type `LIST_TYPE`, from a list or text with commas."""
    if isinstance(value, str):
        return value.split(",")
    return list(map(str, value)) if isinstance(value, Iterable) else []


def refusal(old: Iterable[WrittenName]) -> str:
    """Return the messages on refused options, one a line, or "" if there are none."""
    return ".\n".join(one.row.sentence(one.value) for one in old if one.row.verdict == REFUSED)


def setting_text(value: object) -> str:
    """Return the value of an option as text for a command line."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Mapping):
        return json.dumps({str(key): str(field) for key, field in value.items()})
    if isinstance(value, Sequence) and not isinstance(value, str):
        return json.dumps(list(map(str, value)))
    return str(value)


def cmsis_nn_core(value: object) -> str:
    """Return the core in the options of CMSIS-NN, with the features that it lacks, as
    "cortex-m55+nomve", or "" if there is none.

    Parameters
    ----------
    value
        a mapping, its JSON text, or the name of the core.

    Raises
    ------
    ValueError
        the text begins like JSON, but is not JSON.
    """
    if _is_core(value):
        return str(value)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"{CMSIS_NN_CONFIG}={value}: {error}") from error
    if not isinstance(value, Mapping) or "mcpu" not in value:
        return ""
    extensions = value.get("mattr", "")
    is_list = isinstance(extensions, Sequence) and not isinstance(extensions, str)
    attributes = list(map(str, extensions)) if is_list else str(extensions).split(",")
    return "".join([str(value["mcpu"]), *(a for a in attributes if a.startswith("+no"))])


def _is_core(value: object) -> bool:
    return isinstance(value, str) and not value.startswith("{")
