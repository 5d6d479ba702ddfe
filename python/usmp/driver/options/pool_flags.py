"""Parse memory pools in two spellings: of TVM's RFC 0009, and of tvmc in TVM 0.18.

    --usmp-workspace-pools=dtcm,sram --usmp-workspace-pool-dtcm="target=c;size=1000"
    --workspace-pools=dtcm,sram --workspace-pools-targets=dtcm:c
        --workspace-pools-size-hint-bytes=dtcm:1000

TVM 0.18 had no constant pools, sections or internal pools. Both spellings have the same keys here.
`pool_settings` (the module) parses their values.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from usmp.driver.errors import UsageError
from usmp.driver.options.pool_keys import (
    ALIGNMENT,
    BURSTS,
    INTERNAL,
    IO,
    KEYS,
    PoolSettings,
    Setting,
)
from usmp.driver.terminal.help import Rare
from usmp.support.text.known_names import unknown_name

_POOL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NAMED_FLAG = re.compile(r"(--usmp-(?:workspace|parameter)-pool-)([^=]+)(?:=(.*))?", re.DOTALL)
_COMMA_OF_KEYS = re.compile(rf",(?=\s*(?:{'|'.join(KEYS)})\s*=)")
_EXAMPLE = '"target=c;size=64K"'

_TVM_NAMES = {"target": "targets", "size": "size-hint-bytes"}
"""Names in TVM 0.18 of keys that the RFC renamed."""

_HELP = {
    "target": (
        "POOL:TARGET,...",
        "the targets that may access it, as c or c:ro (default: all)",
    ),
    "size": ("POOL:BYTES", "the bytes that may be used, as 1000, 0x400 or 64K (default: no limit)"),
    "clock-frequency-hz": ("POOL:HZ", "the clock of the memory"),
    "read-bandwidth-bytes-per-cycle": ("POOL:BYTES", "the bytes that a cycle reads"),
    "write-bandwidth-bytes-per-cycle": ("POOL:BYTES", "the bytes that a cycle writes"),
    "read-latency-cycles": ("POOL:CYCLES", "the cycles before a first byte is read (default: 0)"),
    "write-latency-cycles": (
        "POOL:CYCLES",
        "the cycles before a first byte is written (default: 0)",
    ),
    BURSTS: ("POOL:TARGET:BYTES", "the burst length of a target (default: 1)"),
    "section": ("POOL:SECTION", "the section of the object file, as .dtcm_bss"),
    ALIGNMENT: ("POOL:BYTES", "the power of two that each buffer starts and ends at"),
    "pool-offset": (
        "POOL:BYTES",
        "the first bytes of the memory, which belong to others (default: 0)",
    ),
    "address": ("POOL:ADDRESS", "the address of the memory's first byte, as 0x20000000"),
    IO: ("POOL:only|no|any", "only inputs and outputs, or none of them (default: any)"),
    INTERNAL: ("POOL,...", "the emitted C holds the pool itself"),
}


@dataclass(frozen=True)
class PoolKind:
    """A kind of pools (workspace or constant) and its flags. The help shows `content`, the buffers
    in the pools."""

    name: str
    rfc_name: str
    content: str

    @property
    def rfc_list(self) -> str:
        """Flag of the RFC that lists the pools."""
        return f"--usmp-{self.rfc_name}-pools"

    @property
    def rfc_pool(self) -> str:
        """Prefix of the RFC's flag for one pool, before the name of the pool."""
        return f"--usmp-{self.rfc_name}-pool-"

    @property
    def tvm_list(self) -> str:
        """Flag of TVM that lists the pools."""
        return f"--{self.name}-pools"

    def tvm_flag(self, key: str) -> str:
        """Return TVM's flag for one key of all pools."""
        return f"{self.tvm_list}-{_TVM_NAMES.get(key, key)}"


WORKSPACE = PoolKind("workspace", "workspace", "what a run writes")
CONSTANT = PoolKind("constant", "parameter", "weights and other constants")

STATE_POOL = "--state-pool"
"""The flag that names the workspace pool of the states."""

IO_POOL = "--io-pool"
"""The flag that names the workspace pool of inputs and outputs."""


def add_pool_flags(group: argparse._ActionsContainer, kind: PoolKind) -> None:
    """Add the flags of a kind of pools in the spelling of the RFC."""
    group.add_argument(
        kind.rfc_list,
        action="append",
        metavar="POOL,...",
        help=f"the memories for {kind.content}, the most wanted first (default: one in the C)",
    )
    group.add_argument(
        f"{kind.rfc_pool}NAME",
        action="append",
        metavar="KEY=VALUE;...",
        help=f"what is known of the pool NAME, such as {_EXAMPLE} (--help-all shows the keys)",
    )


def add_pools_of_buffers(group: argparse._ActionsContainer) -> None:
    """Add the flags that name the pools of inputs and outputs, and of states."""
    group.add_argument(
        IO_POOL, metavar="POOL", help="the pool for all inputs and outputs, with --workspace-io"
    )
    group.add_argument(
        STATE_POOL,
        metavar="POOL",
        help="the pool for what is kept between runs, and nothing else",
    )


def add_key_flags(parser: argparse.ArgumentParser, kind: PoolKind) -> None:
    """Add the flags of a kind of pools in the spelling of TVM 0.18, a flag for each key."""
    group = parser.add_argument_group(
        f"keys of {kind.name} pools",
        f"Each key of {kind.rfc_pool}NAME is a flag for all pools, too.",
    )
    group.add_argument(
        kind.tvm_list, action="append", metavar="POOL,...", help=Rare("the names of the pools")
    )
    for key, (written, text) in zip(KEYS, key_texts().items(), strict=True):
        group.add_argument(
            kind.tvm_flag(key),
            action="append",
            metavar=_HELP[key][0],
            help=Rare(f"{written.partition('=')[0]}: {text}"),
        )


def key_texts() -> dict[str, str]:
    """Return the help of each key of a pool, as "size=BYTES"."""
    return {
        key if key == INTERNAL else f"{key}={metavar.partition(':')[2]}": text
        for key in KEYS
        for metavar, text in (_HELP[key],)
    }


def is_pool_option(dest: str) -> bool:
    """Return whether an option of the command line, by its name in Python, is about pools."""
    kinds = (WORKSPACE, CONSTANT)
    prefixes = [p for kind in kinds for p in (kind.rfc_list, kind.rfc_pool, kind.tvm_list)]
    flag = f"--{dest.replace('_', '-')}"
    return flag in (STATE_POOL, IO_POOL) or flag.startswith(tuple(prefixes))


def split_pool_flags(arguments: Sequence[str]) -> list[str]:
    """Move the pool's name from each flag into the value, so that argparse can match the flag.

    `--usmp-workspace-pool-sram=SPEC` becomes `--usmp-workspace-pool-NAME=sram=SPEC`. The value may
    also be the next argument, even after "=", as the RFC prints it.
    """
    changed: list[str] = []
    remaining = list(arguments)
    while remaining:
        argument = remaining.pop(0)
        if argument == "--":
            return [*changed, argument, *remaining]
        if match := _NAMED_FLAG.fullmatch(argument):
            flag, name, value = match.groups()
            if not value and remaining and not remaining[0].startswith("-"):
                value = remaining.pop(0)
            argument = f"{flag}NAME={name}={value or ''}"
        changed.append(argument)
    return changed


def pool_settings(options: argparse.Namespace, kind: PoolKind) -> dict[str, PoolSettings]:
    """Return the settings of the listed pools of a kind by name, the preferred pool first.

    Raises
    ------
    UsageError
        both spellings are used, a pool has no name or the name of another, a pool with settings is
        not listed, a key is unknown, or a key has no value.
    """
    settings = _settings(options, kind)
    listed = {*_listed(options, kind.rfc_list), *_listed(options, kind.tvm_list)}
    return {name: values for name, values in settings.items() if name in listed}


def state_pool_settings(options: argparse.Namespace) -> tuple[str, PoolSettings] | None:
    """Return the name of the pool in `--state-pool`, and its settings from workspace pool flags.

    Raises
    ------
    UsageError
        the name is malformed, or see `pool_settings`.
    """
    name = state_pool_name(options)
    if name is None:
        return None
    _check_name(name, f"{STATE_POOL}={name}", WORKSPACE)
    return name, _settings(options, WORKSPACE).get(name, {})


def state_pool_name(options: argparse.Namespace) -> str | None:
    """Return the value of `--state-pool`, or None."""
    name: str | None = getattr(options, "state_pool", None)
    return None if name is None else name.strip()


def places_io(options: argparse.Namespace) -> bool:
    """Return whether the flags restrict the pools of inputs and outputs.

    Raises
    ------
    UsageError
        see `pool_settings`.
    """
    settings = [s[IO].text.strip() for s in pool_settings(options, WORKSPACE).values() if IO in s]
    return options.io_pool is not None or any(text != "any" for text in settings)


def _settings(options: argparse.Namespace, kind: PoolKind) -> dict[str, PoolSettings]:
    """Return the settings of the listed pools in order, then those of a pool for states only."""
    rfc_flags = [kind.rfc_list, f"{kind.rfc_pool}NAME"]
    tvm_flags = [kind.tvm_list, *(kind.tvm_flag(key) for key in KEYS)]
    rfc, tvm = (
        [flag for flag in flags if _values(options, flag)] for flags in (rfc_flags, tvm_flags)
    )
    if rfc and tvm:
        name, _, _ = next(iter(_values(options, rfc_flags[1])), "").partition("=")
        rfc_flag = f"{kind.rfc_pool}{name}" if rfc[0] == rfc_flags[1] else rfc[0]
        raise UsageError(
            f"{rfc_flag} and {tvm[0]} are two spellings for {kind.name} pools; use one of them"
        )
    if rfc:
        return _in_listed_order(options, kind, kind.rfc_list, _rfc_settings(options, kind))
    if tvm:
        return _in_listed_order(options, kind, kind.tvm_list, _tvm_settings(options, kind))
    return {}


def _values(options: argparse.Namespace, flag: str) -> list[str]:
    return getattr(options, flag.lstrip("-").replace("-", "_"), None) or []


def _listed(options: argparse.Namespace, flag: str) -> list[str]:
    return [name.strip() for value in _values(options, flag)[:1] for name in value.split(",")]


def _in_listed_order(
    options: argparse.Namespace, kind: PoolKind, flag: str, settings: Mapping[str, PoolSettings]
) -> dict[str, PoolSettings]:
    """Sort settings by the list in `flag`, which must name each pool except the state pool."""
    lists = _values(options, flag)
    if len(lists) > 1:
        raise UsageError(f"{flag} is given twice; one lists all pools, the most wanted first")
    names = _listed(options, flag)
    for index, name in enumerate(names):
        _check_name(name, f"{flag}={lists[0]}", kind)
        if name in names[:index]:
            raise UsageError(f'{flag}={lists[0]}: pool "{name}" is named twice')
    states_name = state_pool_name(options) if kind == WORKSPACE else None
    if states_name is not None and states_name in settings and states_name not in names:
        names.append(states_name)
    for name, values in settings.items():
        if name not in names:
            (first, *_) = values.values()
            problem = f'{first.written}: pool "{name}"'
            if not lists:
                raise UsageError(f"{problem} needs {flag}={name}")
            problem += f" is not in {flag}={lists[0]}"
            raise UsageError(unknown_name(problem, name, names, "Pools"))
    return {name: settings.get(name, {}) for name in names}


def _check_name(name: str, written: str, kind: PoolKind) -> None:
    """Raise UsageError if no pool can have this name; `written` is the flag that the user gave."""
    if _POOL_NAME.fullmatch(name):
        return
    message = f'{written}: "{name}" is no name of a pool; write letters, digits and _'
    pool, _, size = name.partition(":")
    if _POOL_NAME.fullmatch(pool) and size:
        in_tvm = f"{kind.tvm_flag('size')}={name}"
        is_tvm = written.startswith(kind.tvm_list)
        message += f", and its size as {in_tvm if is_tvm else f'{kind.rfc_pool}{pool}=size={size}'}"
    raise UsageError(message)


def _rfc_settings(options: argparse.Namespace, kind: PoolKind) -> dict[str, PoolSettings]:
    pools: dict[str, PoolSettings] = {}
    for value in _values(options, f"{kind.rfc_pool}NAME"):
        name, _, specification = value.partition("=")
        flag = f"{kind.rfc_pool}{name}"
        if name in pools:
            raise UsageError(f"{flag} is given twice")
        pools[name] = _rfc_specification(flag, specification)
        if not pools[name]:
            raise UsageError(f"{flag} says nothing; write it as {flag}={_EXAMPLE}")
    return pools


def _rfc_specification(flag: str, specification: str) -> PoolSettings:
    settings: dict[str, Setting] = {}
    separated = _COMMA_OF_KEYS.sub(";", specification)
    if separated != specification:
        raise UsageError(f'{flag}: separate keys by ";", and quote them, as "{separated}"')
    for part in filter(None, map(str.strip, specification.split(";"))):
        key, separator, value = (piece.strip() for piece in part.partition("="))
        if key not in KEYS:
            problem = f'{flag}: unknown key "{key}"'
            raise UsageError(unknown_name(problem, key, KEYS, "Keys"))
        if key in settings:
            raise UsageError(f'{flag}: "{key}" is given twice')
        if (key == INTERNAL) == bool(separator):
            correct = INTERNAL if key == INTERNAL else f"{key}=VALUE"
            raise UsageError(f'{flag}: write "{part}" as "{correct}"')
        settings[key] = Setting(value, f"{part} in {flag}")
    return settings


def _tvm_settings(options: argparse.Namespace, kind: PoolKind) -> dict[str, PoolSettings]:
    pools: dict[str, dict[str, Setting]] = {}
    for key in KEYS:
        flag = kind.tvm_flag(key)
        for value in _values(options, flag):
            for name, text in _tvm_values(flag, key, value):
                settings = pools.setdefault(name, {})
                written = f"{flag}={value}"
                if key == BURSTS and key in settings:
                    text = _last_of_each_target(f"{settings[key].text},{text}")
                    written = f"{flag}={name}:{text}"
                settings[key] = Setting(text, written)
    return {name: dict(settings) for name, settings in pools.items()}


def _tvm_values(flag: str, key: str, value: str) -> list[tuple[str, str]]:
    """Return pairs of a pool's name and its value in one flag of TVM."""
    if key == INTERNAL:
        pairs = [(name.strip(), "") for name in value.split(",")]
        is_right = ":" not in value
    else:
        name, _, text = (piece.strip() for piece in value.partition(":"))
        pairs = [(name, text)]
        is_right = value.count(":") >= _HELP[key][0].count(":")
    if not is_right or not all(name for name, _ in pairs):
        raise UsageError(f"{flag}={value}: write it as {_HELP[key][0]}")
    return pairs


def _last_of_each_target(bursts: str) -> str:
    """Keep the last value of each target, because TVM's flag for bursts names one target a time."""
    last = {target: text for target, _, text in (b.rpartition(":") for b in bursts.split(","))}
    return ",".join(f"{target}:{text}" for target, text in last.items())
