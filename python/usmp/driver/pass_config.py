"""`--pass-config NAME=VALUE` to a PassContext, with the types that the options have."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from usmp.driver.errors import UsageError

if TYPE_CHECKING:
    from tvm.ir.transform import PassContext

_TRUE, _FALSE = ("1", "true"), ("0", "false")


def pass_context(settings: Sequence[str]) -> PassContext:
    """The context with these settings.

    Raises
    ------
    UsageError
        an unknown option, or a value of the wrong type.
    """
    from tvm.ir.transform import PassContext

    known = PassContext.list_configs()
    config: dict[str, object] = {}
    for setting in settings:
        name, separator, value = setting.partition("=")
        if not separator:
            raise UsageError(f'--pass-config {setting}: write it as "NAME=VALUE"')
        name = _current_name(name, known)
        if name not in known:
            ours = ", ".join(sorted(option for option in known if option.startswith("tir.usmp.")))
            raise UsageError(f'unknown pass option "{name}"; those of the planner are {ours}')
        config[name] = _value(name, value, str(known[name]["type"]))
    try:
        return PassContext(opt_level=3, config=config)
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"--pass-config: {error}") from error


def _current_name(name: str, known: Collection[str]) -> str:
    """The name of an option now: what TVM 0.18 called `tir.disable_vectorize` is `tirx....`."""
    prefix, _, rest = name.partition(".")
    renamed = f"tirx.{rest}"
    return renamed if prefix == "tir" and name not in known and renamed in known else name


def _value(name: str, text: str, type_name: str) -> object:
    """`text` as the type that the option was registered with."""
    if type_name in ("bool", "ir.IntImm", "int", "IntImm"):
        if text.lower() in _TRUE:
            return True if type_name == "bool" else 1
        if text.lower() in _FALSE:
            return False if type_name == "bool" else 0
        if type_name != "bool":
            try:
                return int(text)
            except ValueError:
                pass
        expected = "0 or 1" if type_name == "bool" else "a number"
        raise UsageError(f"pass option {name} takes {expected}, not {text}")
    if text.startswith(("{", "[")):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise UsageError(f"pass option {name}: {error}") from error
    return text
