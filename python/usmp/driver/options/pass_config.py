"""Parse `--pass-config NAME=VALUE` into a PassContext, with the types of the options."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError
from usmp.names import LIST_TYPE, PASS_OPTIONS
from usmp.support.text.known_names import unknown_name
from usmp.tvm018.current_options import current_options, refusal, setting_text, words_of
from usmp.tvm018.old_name import WrittenName, parse_truth, tell_all
from usmp.tvm018.pass_options import BESIDE_ENABLE, CMSIS_NN_CONFIG, ENABLE

if TYPE_CHECKING:
    from tvm.ir.transform import PassContext

_ALGORITHM = "tir.usmp.algorithm"


def split_setting(setting: str) -> tuple[str, str]:
    """Return name and value of NAME=VALUE, stripped, or raise UsageError if there is no "="."""
    name, separator, value = setting.partition("=")
    if not separator:
        raise UsageError(f'--pass-config {setting}: write it as "NAME=VALUE"')
    return name.strip(), value.strip()


def use_current_options(options: argparse.Namespace) -> list[WrittenName]:
    """Replace names of TVM 0.18 in the `--pass-config` of a command, and return them.

    Drop `--usmp-algorithm` beside `tir.usmp.enable=0`, because TVM 0.18 then ignored it.

    Raises
    ------
    UsageError
        options are refused; the message names all of them.
    """
    settings = getattr(options, "pass_config", None)
    if not settings:
        return []
    options.pass_config, disabled, replaced = current_settings(settings)
    options.disabled_pass = [*options.disabled_pass, *disabled]
    algorithm = getattr(options, "usmp_algorithm", None)
    if algorithm is not None and any(name.row.name == ENABLE for name in replaced):
        options.usmp_algorithm = None
        replaced += [WrittenName(row, algorithm) for row in BESIDE_ENABLE if row.name == _ALGORITHM]
    return replaced


def told_settings(settings: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the settings with current names, and the passes that they leave out. Warn about each
    old name."""
    current, disabled, replaced = current_settings(settings)
    tell_all(replaced)
    return current, disabled


def current_settings(
    settings: Sequence[str],
) -> tuple[list[str], list[str], list[WrittenName]]:
    """Return the settings with current names, as "NAME=VALUE", the passes that they leave out, and
    the replaced names.

    Raises
    ------
    UsageError
        options are refused; the message names all of them.
    """
    parsed = [split_setting(setting) for setting in settings]
    try:
        current = current_options(dict(parsed))
    except ValueError as error:
        raise UsageError(f"pass option {error}") from error
    if refused := refusal(current.old):
        raise UsageError(refused)
    # If no name was replaced, return `parsed`, which also has repeated settings of an option.
    pairs = current.options.items() if current.old else parsed
    texts = [f"{name}={setting_text(value)}" for name, value in pairs]
    return texts, current.disabled_pass, current.old


def pass_context(settings: Sequence[str], disabled_pass: Sequence[str] = ()) -> PassContext:
    """Return a PassContext with these settings, which have current names, and without some passes.

    Raises
    ------
    UsageError
        an option is unknown, or a value has the wrong type.
    """
    from tvm.ir.transform import PassContext

    known = _known_options()
    config: dict[str, object] = {}
    for setting in settings:
        name, value = split_setting(setting)
        name = _current_name(name, known)
        if name not in known:
            problem = f'unknown pass option "{name}"'
            see = "See tvmc list pass-configs for those of the planner"
            raise UsageError(unknown_name(problem, name, PASS_OPTIONS, "Pass options", see))
        new = _value(name, value, known[name])
        # Several flags may each name some of a list, as --profile does.
        is_repeated_list = known[name] == LIST_TYPE and name in config
        config[name] = [*words_of(config[name]), *words_of(new)] if is_repeated_list else new
    try:
        return PassContext(opt_level=3, disabled_pass=list(disabled_pass), config=config)
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"--pass-config: {error}") from error


def _known_options() -> dict[str, str]:
    """Return the types of the registered pass options, by name."""
    from tvm.ir.transform import PassContext

    types = {str(k): str(v["type"]) for k, v in PassContext.list_configs().items()}
    # Options of TVM 0.18 are registered with type Any; only the option of CMSIS-NN is read.
    return {name: kind for name, kind in types.items() if kind != "Any" or name == CMSIS_NN_CONFIG}


def _current_name(name: str, known: Collection[str]) -> str:
    """Return the current name of a TVM option, whose prefix `tir` became `tirx`."""
    prefix, _, rest = name.partition(".")
    renamed = f"tirx.{rest}"
    return renamed if prefix == "tir" and name not in PASS_OPTIONS and renamed in known else name


def _value(name: str, text: str, type_name: str) -> object:
    """Parse a value by the type that the option was registered with."""
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
