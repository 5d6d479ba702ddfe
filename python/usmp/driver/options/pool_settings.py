"""Construct a memory pool from its settings on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from usmp.driver.errors import UsageError
from usmp.driver.options.byte_count import INT64_MAX
from usmp.driver.options.pool_keys import (
    ALIGNMENT,
    BURSTS,
    INTERNAL,
    IO,
    NUMBERS,
    PLACES,
    PoolSettings,
    Setting,
)
from usmp.objects import ConstantPoolInfo, PoolInfoProperties, WorkspacePoolInfo
from usmp.objects.pools import READ_ONLY_ACCESS, READ_WRITE_ACCESS
from usmp.objects.target.old_targets import current_name
from usmp.objects.target.targets import BuildTargets

_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)")
_BYTES = re.compile(rf"{_NUMBER.pattern}([kKmM]?)")
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20}
_UNKNOWN = "-1"


def workspace_pool(name: str, settings: PoolSettings, targets: BuildTargets) -> WorkspacePoolInfo:
    """Construct a workspace pool. Every target may access it unless the settings name targets.

    Raises
    ------
    UsageError
        a key has an invalid value, a target is not built for, or no target may write to the pool.
    """
    title = f'Workspace Pool "{name}"'
    access = _target_access(title, settings, targets)
    if READ_WRITE_ACCESS not in access.values():
        listed = ", ".join(f"{target}:{mode}" for target, mode in access.items())
        raise UsageError(f"{title}: no target may write it ({listed}), so it can hold nothing")
    return WorkspacePoolInfo(name, access, _properties(title, settings, targets, access))


def constant_pool(name: str, settings: PoolSettings, targets: BuildTargets) -> ConstantPoolInfo:
    """Construct a constant pool; see `workspace_pool`."""
    title = f'Constant Pool "{name}"'
    access = _target_access(title, settings, targets)
    return ConstantPoolInfo(name, access, None, _properties(title, settings, targets, access))


def _target_access(title: str, settings: PoolSettings, targets: BuildTargets) -> dict[str, str]:
    """Return the access ("rw" or "ro") of each target that may access the pool."""
    if "target" not in settings:
        return dict.fromkeys(targets.names, READ_WRITE_ACCESS)
    setting = settings["target"]
    if not setting.text.strip():
        raise UsageError(f"No target specified for {title}; {setting.written} names none")
    access: dict[str, str] = {}
    seen: set[str] = set()
    for part in setting.text.split(","):
        target, separator, mode = (piece.strip() for piece in part.partition(":"))
        name = current_name(target)
        _check_target(title, name, targets)
        if target in seen:
            raise UsageError(f'{setting.written}: target "{target}" is named twice')
        seen.add(target)
        if separator and mode not in (READ_WRITE_ACCESS, READ_ONLY_ACCESS):
            raise UsageError(
                f'{setting.written}: access of target "{target}" must be '
                f'"{READ_WRITE_ACCESS}" or "{READ_ONLY_ACCESS}", not "{mode}"'
            )
        mode = mode or READ_WRITE_ACCESS
        access[name] = mode if access.get(name, mode) == mode else READ_WRITE_ACCESS
    return access


def _check_target(title: str, target: str, targets: BuildTargets) -> None:
    if target not in targets.names:
        raise UsageError(
            f'{title} using undefined Target "{target}"; --target has {", ".join(targets.names)}'
        )


def _properties(
    title: str, settings: PoolSettings, targets: BuildTargets, access: Mapping[str, str]
) -> PoolInfoProperties:
    fields: dict[str, Any] = {
        key.replace("-", "_"): _number(settings[key], minimum)
        for key, minimum in NUMBERS.items()
        if _has_number(settings, key)
    }
    if _has_number(settings, "size"):
        fields["size_hint_bytes"] = _bytes(settings["size"], 1, "; leave it out for no limit")
    if ALIGNMENT in settings:
        fields[ALIGNMENT] = _bytes(settings[ALIGNMENT], 1, "; leave it out for the executor's")
    for key in PLACES:
        if key in settings:
            fields[key.replace("-", "_")] = _bytes(settings[key], 0)
    bursts = _bursts(title, settings, targets, access)
    for key, field in (("section", "section_name"), (IO, IO)):
        if key in settings:
            fields[field] = settings[key].text.strip()
    try:
        return PoolInfoProperties(
            **fields, target_burst_bytes=bursts, is_internal=INTERNAL in settings
        )
    except ValueError as error:
        raise UsageError(f"{title}: {error}") from error


def _has_number(settings: PoolSettings, key: str) -> bool:
    """Return whether a number is set. TVM 0.18 wrote -1 for no limit or an unknown number."""
    has_default = NUMBERS.get(key, 1) > 0
    return key in settings and not (has_default and settings[key].text.strip() == _UNKNOWN)


def _bursts(
    title: str, settings: PoolSettings, targets: BuildTargets, access: Mapping[str, str]
) -> dict[str, int]:
    if BURSTS not in settings:
        return {}
    setting = settings[BURSTS]
    bursts: dict[str, int] = {}
    for part in setting.text.split(","):
        target, separator, text = (piece.strip() for piece in part.partition(":"))
        if not separator:
            raise UsageError(f"{setting.written}: write it as TARGET:BYTES, as in c:4")
        target = current_name(target)
        _check_target(title, target, targets)
        if target not in access:
            raise UsageError(f'{setting.written}: target "{target}" may not access the pool')
        if target in bursts:
            raise UsageError(f'{setting.written}: target "{target}" is named twice')
        bursts[target] = _number(Setting(text, setting.written), 1)
    return bursts


def _bytes(setting: Setting, minimum: int, hint: str = "") -> int:
    """Parse bytes as in linker scripts, where K is 1024 and M is 1024K."""
    match = _BYTES.fullmatch(setting.text.strip())
    if match is None or (number := _integer(match[1])) < minimum:
        raise UsageError(
            f"{setting.written}: the value must be bytes, at least {minimum}, such as 1000, 0x400 "
            f"or 64K (K is 1024, M is 1024K){hint}"
        )
    return _checked_range(number * _FACTORS[match[2].lower()], setting)


def _number(setting: Setting, minimum: int) -> int:
    match = _NUMBER.fullmatch(setting.text.strip())
    number = _integer(match[1]) if match else -1
    if number < minimum:
        raise UsageError(f"{setting.written}: the value must be a whole number, at least {minimum}")
    return _checked_range(number, setting)


def _integer(text: str) -> int:
    """Parse a decimal number, also with leading zeros, or a hexadecimal number."""
    return int(text, 16 if "x" in text.lower() else 10)


def _checked_range(number: int, setting: Setting) -> int:
    if number > INT64_MAX:
        raise UsageError(f"{setting.written}: the value must be at most {INT64_MAX}")
    return number
