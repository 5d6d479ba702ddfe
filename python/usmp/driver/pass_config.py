"""`--pass-config NAME=VALUE` to a PassContext, with the types that the options have."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError
from usmp.names import PASS_OPTIONS
from usmp.tvm018.current_options import OldOption, current_options, refusal
from usmp.tvm018.old_name import FALSE, TRUE
from usmp.tvm018.pass_options import CMSIS_NN

if TYPE_CHECKING:
    from tvm.ir.transform import PassContext

_ALGORITHM = "tir.usmp.algorithm"


def split_setting(setting: str) -> tuple[str, str]:
    """Return name and value of NAME=VALUE, without blanks around them.

    Raises
    ------
    UsageError
        there is no "=".
    """
    name, separator, value = setting.partition("=")
    if not separator:
        raise UsageError(f'--pass-config {setting}: write it as "NAME=VALUE"')
    return name.strip(), value.strip()


def use_current_options(options: argparse.Namespace) -> list[OldOption]:
    """Replace names of TVM 0.18 in the `--pass-config` of a command, and return them.

    `--usmp-algorithm` goes where `tir.usmp.enable=0` is, which TVM 0.18 did not read it with.

    Raises
    ------
    UsageError
        options that are refused; it names all of them.
    """
    settings = getattr(options, "pass_config", None)
    if not settings:
        return []
    algorithm = getattr(options, "usmp_algorithm", None)
    short = [] if algorithm is None else [f"{_ALGORITHM}={algorithm}"]
    _, old = _current([*settings, *short])
    options.pass_config = current_settings(settings)
    if any(one.row.name == _ALGORITHM for one in old):
        options.usmp_algorithm = None
    return old


def current_settings(settings: Sequence[str]) -> list[str]:
    """Return settings, as "NAME=VALUE", without blanks and without names of TVM 0.18.

    Raises
    ------
    UsageError
        options that are refused; it names all of them.
    """
    current, old = _current(settings)
    # Without an old name, settings of one option stay as often as they were given.
    pairs = current.items() if old else map(split_setting, settings)
    return [f"{name}={value}" for name, value in pairs]


def told_settings(settings: Sequence[str]) -> list[str]:
    """Return the same, and tell the user of the names of TVM 0.18."""
    for one in _current(settings)[1]:
        one.row.tell(one.value)
    return current_settings(settings)


def _current(settings: Sequence[str]) -> tuple[dict[str, object], list[OldOption]]:
    try:
        current, old = current_options(dict(map(split_setting, settings)))
    except ValueError as error:
        raise UsageError(f"pass option {error}") from error
    refused = refusal(old)
    if refused:
        raise UsageError(refused)
    return current, old


def pass_context(settings: Sequence[str]) -> PassContext:
    """The context with these settings, whose names are those of today.

    Raises
    ------
    UsageError
        an unknown option, or a value of the wrong type.
    """
    from tvm.ir.transform import PassContext

    known = _known_options()
    config: dict[str, object] = {}
    for setting in settings:
        name, value = split_setting(setting)
        name = _current_name(name, known)
        if name not in known:
            raise UsageError(_unknown(name))
        config[name] = _value(name, value, known[name])
    try:
        return PassContext(opt_level=3, config=config)
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"--pass-config: {error}") from error


def _known_options() -> dict[str, str]:
    """The types of the options that passes read, by name."""
    from tvm.ir.transform import PassContext

    types = {str(k): str(v["type"]) for k, v in PassContext.list_configs().items()}
    # Of any type are those of TVM 0.18; that of CMSIS-NN is read where targets are.
    return {name: kind for name, kind in types.items() if kind != "Any" or name == CMSIS_NN}


def _unknown(name: str) -> str:
    """What the user reads of an option that no one knows."""
    last_words = {known.rpartition(".")[2]: known for known in PASS_OPTIONS}
    close = get_close_matches(name.rpartition(".")[2], last_words, n=1)
    meant = f"; did you mean {last_words[close[0]]}?" if close else ""
    ours = ", ".join(sorted(PASS_OPTIONS))
    return f'unknown pass option "{name}"{meant}; those of the planner are {ours}'


def _current_name(name: str, known: Collection[str]) -> str:
    """The name of an option of a pass of TVM, whose prefix is no longer `tir` but `tirx`."""
    prefix, _, rest = name.partition(".")
    renamed = f"tirx.{rest}"
    return renamed if prefix == "tir" and name not in PASS_OPTIONS and renamed in known else name


def _value(name: str, text: str, type_name: str) -> object:
    """`text` as the type that the option was registered with."""
    if type_name in ("bool", "ir.IntImm", "int", "IntImm"):
        if text.lower() in TRUE:
            return True if type_name == "bool" else 1
        if text.lower() in FALSE:
            return False if type_name == "bool" else 0
        if type_name != "bool":
            try:
                return int(text)
            except ValueError:
                pass
        expected = "0 or 1" if type_name == "bool" else "a number"
        raise UsageError(f"pass option {name} takes {expected}, not {text}")
    if type_name.endswith("Config") and not text.startswith("{"):
        raise UsageError(f'pass option {name} takes its fields as JSON, {{"FIELD": VALUE}}')
    if text.startswith(("{", "[")):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise UsageError(f"pass option {name}: {error}") from error
    return text
