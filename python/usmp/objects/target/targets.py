"""The targets of a build: one CPU, and accelerators beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from tvm.target import Target

from usmp.names import CORES, RISCV_CORES, TARGET_OPTIONS, TARGETS
from usmp.objects.target.cores import core_of
from usmp.objects.target.described_target import (
    DescribedTarget,
    OneTarget,
    described_target,
    option_text,
    split_targets,
)
from usmp.objects.target.native_cpu import NATIVE, check_native_triple, native_cpu
from usmp.objects.target.old_targets import current_name, current_target, with_cmsis_nn
from usmp.support.text.known_names import unknown_name
from usmp.tvm018 import REFUSED, TARGET_NAMES, find
from usmp.tvm018.old_name import tell_all

_OPTIONS = TARGET_OPTIONS["llvm"]
"""The options of "c" and "llvm", such as "-mcpu=cortex-m3"."""

_ACCELERATOR_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ACCELERATOR_KIND = "ext_dev"


@dataclass(frozen=True)
class BuildTargets:
    """The targets of a build.

    Parameters
    ----------
    cpu
        target of the main function, and of every operator without an accelerator.
    accelerators
        names of the targets of the user's own functions, most preferred first. They are prefixes of
        pattern names in `tvm.relax.backend.pattern_registry`.
    executor_options
        name and value of executor options that were target options in TVM 0.18.
    """

    cpu: Target
    accelerators: tuple[str, ...] = ()
    executor_options: tuple[tuple[str, object], ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of all targets, as pools list them; accelerators first."""
        return [*self.accelerators, str(self.cpu.kind.name)]


def parse_targets(
    targets: OneTarget | Sequence[OneTarget] | BuildTargets, *, takes_executor_options: bool = False
) -> BuildTargets:
    """Parse "c", "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3", "accel,c" or a list of these.

    Names and options of TVM 0.18 that are accepted or mapped lead to warnings.

    Parameters
    ----------
    targets
        text, JSON, the path of a JSON file, a dictionary or TVM's objects.
    takes_executor_options
        whether the caller applies `executor_options`.

    Raises
    ------
    ValueError
        no CPU or several; an unknown name, option or core; a repeated name; or a name or option of
        TVM 0.18 that is refused.
    """
    if isinstance(targets, BuildTargets):
        return targets
    described = [described_target(target) for target in split_targets(targets)]
    described, notes = with_cmsis_nn(described)
    cpus: list[Target] = []
    accelerators: list[str] = []
    executor: dict[str, object] = {}
    for target in described:
        if target.kind in TARGETS:
            current = current_target(target)
            cpus.append(_cpu_target(target, current.target))
            executor |= current.executor
            notes += current.notes
            continue
        name = _accelerator_name(target)
        if name in accelerators:
            raise ValueError(f'the target "{name}" is named twice')
        accelerators.append(name)
    if executor and not takes_executor_options:
        raise ValueError(
            f"options of the target are those of the executor: write Executor('aot', {executor})"
        )
    cpu = _only_cpu(cpus, accelerators)
    tell_all(notes)
    return BuildTargets(cpu, tuple(accelerators), tuple(executor.items()))


def _only_cpu(cpus: Sequence[Target], accelerators: Sequence[str]) -> Target:
    if not cpus:
        for name in accelerators:
            check_not_refused(name)
        name = accelerators[0] if accelerators else ""
        unknown = f'unknown target "{name}"' if accelerators else "no target"
        if name in CORES or name in RISCV_CORES:
            raise ValueError(f'{unknown}: it is a core, so write the target as "c -mcpu={name}"')
        raise ValueError(
            f"{unknown_target(unknown, name)}, "
            'and names of accelerators beside one of these, as in "accel,c"'
        )
    if len(cpus) > 1:
        raise ValueError(
            f"{len(cpus)} targets run the model's main function; name one of {', '.join(TARGETS)}"
        )
    return cpus[0]


def accelerator_target(name: str) -> Target:
    """Return the target of PrimFuncs that run on an accelerator, which pools list by `name`."""
    return Target({"kind": _ACCELERATOR_KIND, "keys": [name]})


def accelerator_of(target: Target | None) -> str | None:
    """Return the name of the accelerator that `target` is, or None."""
    if target is None or target.kind.name != _ACCELERATOR_KIND:
        return None
    return str(next(iter(target.keys), "")) or None


def target_text(target: Target) -> str:
    """Return a target as text for `--target`: an accelerator by name, a CPU with its options."""
    accelerator = accelerator_of(target)
    if accelerator is not None:
        return accelerator
    values = {name: target.attrs[name] for name in _OPTIONS if target.attrs.get(name)}
    options = [
        f"-{name}={value if isinstance(value, str) else ','.join(value)}"
        for name, value in values.items()
    ]
    return " ".join([str(target.kind.name), *options])


_CPU_KEYS = ("", "cpu", "arm_cpu")
"""Keys that add no information to -mcpu."""


def is_target(listed: Target | str, target: Target) -> bool:
    """Return whether `listed`, an item of a pool's list, is `target`: itself, its kind or a key."""
    if isinstance(listed, Target):
        return _text(listed) == _text(target)
    name = current_name(listed)
    return name == target.kind.name or name in list(target.keys)


def _text(target: Target) -> str:
    return _current_text(str(target))


@lru_cache(maxsize=64)
def _current_text(written: str) -> str:
    """Return the text of a target, normalized as builds do, without its host."""
    target = described_target(written)
    fields = {name: value for name, value in target.options.items() if name != "host"}
    if target.kind in TARGETS:
        # Keep keys of the user, because they distinguish devices with different memories.
        keys = option_text(fields.pop("keys", "")).split(",")
        own = sorted({key for key in keys if key not in _CPU_KEYS})
        # A target that builds refuse is compared unchanged.
        with suppress(ValueError):
            fields = current_target(target).target
        fields = {**fields, "keys": own}
    return json.dumps({**fields, "kind": target.kind}, sort_keys=True)


def unknown_target(problem: str, name: str, accelerators: Sequence[str] = ()) -> str:
    """Return the message about an unknown target; see `unknown_name`. It lists the targets of this
    package and `accelerators`, and may suggest accepted targets of TVM 0.18."""
    listed = [*TARGETS, *accelerators]
    of_tvm = [row.name for row in TARGET_NAMES if row.verdict != REFUSED]
    texts = dict(zip(listed, listed, strict=True))
    return unknown_name(problem, name, [*listed, *of_tvm], "Targets", texts=texts)


def check_not_refused(name: str) -> None:
    """Check that a name is not a removed target of TVM 0.18.

    Raises
    ------
    ValueError
        the target was removed; the message has the replacement.
    """
    row = find(TARGET_NAMES, name)
    if row is not None and row.verdict == REFUSED:
        raise ValueError(f'target "{name}" is not supported: {row.reason}')


def _accelerator_name(target: DescribedTarget) -> str:
    """Return the name of an accelerator target."""
    if target.is_complete and target.kind == _ACCELERATOR_KIND:
        keys = option_text(target.options.get("keys", "")).split(",")
        if keys[0]:
            return keys[0]
    is_kind = target.kind in Target.list_kinds()
    if is_kind or target.options:
        check_not_refused(target.kind)
    if is_kind:
        problem = f'target "{target.kind}" is not supported'
        raise ValueError(unknown_target(problem, target.kind))
    if target.options or not _ACCELERATOR_NAME.fullmatch(target.kind):
        problem = f'unknown target "{target.text}"'
        raise ValueError(unknown_target(problem, target.kind))
    return target.kind


def _cpu_target(described: DescribedTarget, options: Mapping[str, object]) -> Target:
    """Return the target of a CPU; "llvm -mcpu=native" is the CPU of this machine."""
    if described.kind == "llvm" and options.get("mcpu") == NATIVE:
        check_native_triple(options.get("mtriple"))
        options = {**options, **native_cpu(_target(described, options).attrs.get("mattr") or ())}
    target = _target(described, options)
    core_of(target)
    return target


def _target(target: DescribedTarget, options: Mapping[str, object]) -> Target:
    try:
        return Target({"kind": target.kind, **options})
    except Exception as error:
        problem = f'unknown target "{target.text}": {str(error).splitlines()[0]}'
        raise ValueError(unknown_target(problem, target.kind)) from error
