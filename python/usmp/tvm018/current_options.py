"""Current names for TVM 0.18's options of a PassContext."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from usmp.tvm018.old_name import REFUSED, WrittenName, find
from usmp.tvm018.pass_options import (
    BESIDE_ENABLE,
    CMSIS_NN_CONFIG,
    ENABLE,
    PASS_CONFIGS,
    WITHOUT_USMP,
)

_NAMES = {row.name for row in PASS_CONFIGS}


def current_options(
    options: Mapping[str, object],
) -> tuple[dict[str, object], list[WrittenName]]:
    """Replace TVM 0.18's names in the options of a PassContext.

    Parameters
    ----------
    options
        name -> value, as in a PassContext or on a command line.

    Returns
    -------
    tuple
        current options, and all options of TVM 0.18 in `options`, refused ones included.
        `relay.ext.cmsisnn.options` stays, with its core as value, because the target needs it.
    """
    current: dict[str, object] = {}
    replacements: dict[str, object] = {}
    old: list[WrittenName] = []
    for key, value in options.items():
        name = str(key)
        row = find(PASS_CONFIGS, name, setting_text(value)) if name in _NAMES else None
        if row is None or (name == CMSIS_NN_CONFIG and _is_core(value)):
            current[name] = value
            continue
        old.append(WrittenName(row, setting_text(value)))
        if name == CMSIS_NN_CONFIG:
            current[name] = cmsis_nn_core(value)
        else:
            replacements |= WITHOUT_USMP if name == ENABLE else dict.fromkeys(row.to, value)
    if any(one.row.name == ENABLE for one in old):
        for row in BESIDE_ENABLE:
            if row.name in current:
                old.append(WrittenName(row, setting_text(current.pop(row.name))))
    return {**replacements, **current}, old


def refusal(old: Iterable[WrittenName]) -> str:
    """Return the messages on refused options, one a line, or "" if there are none."""
    return ".\n".join(one.row.sentence(one.value) for one in old if one.row.verdict == REFUSED)


def setting_text(value: object) -> str:
    """Return the value of an option as text for a command line."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Mapping):
        return json.dumps({str(key): str(field) for key, field in value.items()})
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
