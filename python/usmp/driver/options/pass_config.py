"""`--pass-config NAME=VALUE` to a PassContext, with the types that the options have."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError
from usmp.names import PASS_OPTIONS
from usmp.tvm018.current_options import current_options, refusal, setting_text
from usmp.tvm018.old_name import WrittenName, parse_truth, tell_all
from usmp.tvm018.pass_options import BESIDE_ENABLE, CMSIS_NN_CONFIG, ENABLE

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


def use_current_options(options: argparse.Namespace) -> list[WrittenName]:
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
    options.pass_config, old = current_settings(settings)
    algorithm = getattr(options, "usmp_algorithm", None)
    if algorithm is not None and any(one.row.name == ENABLE for one in old):
        options.usmp_algorithm = None
        old += [WrittenName(row, algorithm) for row in BESIDE_ENABLE if row.name == _ALGORITHM]
    return old


def told_settings(settings: Sequence[str]) -> list[str]:
    """Return `current_settings`, and tell the user of the names of TVM 0.18."""
    current, old = current_settings(settings)
    tell_all(old)
    return current


def current_settings(settings: Sequence[str]) -> tuple[list[str], list[WrittenName]]:
    """Return settings, as "NAME=VALUE", without blanks and without names of TVM 0.18, and those.

    Raises
    ------
    UsageError
        options that are refused; it names all of them.
    """
    given = [split_setting(setting) for setting in settings]
    try:
        current, old = current_options(dict(given))
    except ValueError as error:
        raise UsageError(f"pass option {error}") from error
    if refused := refusal(old):
        raise UsageError(refused)
    # Without an old name, settings of one option stay as often as they were given.
    pairs = current.items() if old else given
    return [f"{name}={setting_text(value)}" for name, value in pairs], old


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
    return {name: kind for name, kind in types.items() if kind != "Any" or name == CMSIS_NN_CONFIG}


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
        truth = parse_truth(text)
        if truth is not None:
            return truth if type_name == "bool" else int(truth)
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
