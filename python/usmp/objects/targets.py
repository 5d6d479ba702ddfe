"""Which targets is a model built for? One CPU, and the accelerators beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from tvm.target import Target

from usmp.names import TARGET_OPTIONS, TARGETS
from usmp.objects.cores import core_of
from usmp.objects.described_target import (
    DescribedTarget,
    OneTarget,
    described_target,
    option_text,
    split_targets,
)
from usmp.objects.native_cpu import NATIVE, check_native_triple, native_cpu
from usmp.objects.old_targets import current_name, current_target, with_cmsis_nn
from usmp.tvm018 import REFUSED, TARGET_NAMES, find
from usmp.tvm018.old_name import tell_all

_OPTIONS = TARGET_OPTIONS["llvm"]
"""The options that either target may have, as "-mcpu=cortex-m3"."""

_ACCELERATOR_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ACCELERATOR_KIND = "ext_dev"


@dataclass(frozen=True)
class BuildTargets:
    """What a model is built for.

    Parameters
    ----------
    cpu
        runs the main function, and every operator that no accelerator takes.
    accelerators
        names of the targets that the user's own functions run on, most wanted first;
        the names of their patterns in `tvm.relax.backend.pattern_registry` begin with them.
    executor_options
        options of the executor that TVM 0.18 took with the target, as pairs of name and value.
    """

    cpu: Target
    accelerators: tuple[str, ...] = ()
    executor_options: tuple[tuple[str, object], ...] = ()

    @property
    def names(self) -> list[str]:
        """All of them, as pools name those that may access them; accelerators first."""
        return [*self.accelerators, str(self.cpu.kind.name)]


def parse_targets(
    targets: OneTarget | Sequence[OneTarget] | BuildTargets, *, takes_executor_options: bool = False
) -> BuildTargets:
    """Read "c", "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3", "accel,c" or a list of these.

    Names and options of TVM 0.18 that are accepted or mapped are told about by warnings.

    Parameters
    ----------
    targets
        text, JSON, the path of a JSON file, a dictionary or TVM's objects.
    takes_executor_options
        whether the caller applies `executor_options`.

    Raises
    ------
    ValueError
        not one CPU among them, a name, an option or a core that is not known, a name twice, or
        one of TVM 0.18 that is refused.
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
    supported = ", ".join(TARGETS)
    if not cpus:
        for name in accelerators:
            check_not_refused(name)
        unknown = f'unknown target "{accelerators[0]}"' if accelerators else "no target"
        raise ValueError(
            f"{unknown}; supported: {supported}, "
            'and names of accelerators beside one of these, as in "accel,c"'
        )
    if len(cpus) > 1:
        raise ValueError(
            f"{len(cpus)} targets run the model's main function; name one of {supported}"
        )
    return cpus[0]


def accelerator_target(name: str) -> Target:
    """The target of PrimFuncs that run on an accelerator; pools name it by `name`."""
    return Target({"kind": _ACCELERATOR_KIND, "keys": [name]})


def accelerator_of(target: Target | None) -> str | None:
    """The name of the accelerator that `target` means, or None."""
    if target is None or target.kind.name != _ACCELERATOR_KIND:
        return None
    return str(next(iter(target.keys), "")) or None


def target_text(target: Target) -> str:
    """The target as `--target` takes it: an accelerator by its name, a CPU with its options."""
    accelerator = accelerator_of(target)
    if accelerator is not None:
        return accelerator
    given = {name: target.attrs[name] for name in _OPTIONS if target.attrs.get(name)}
    options = [
        f"-{name}={value if isinstance(value, str) else ','.join(value)}"
        for name, value in given.items()
    ]
    return " ".join([str(target.kind.name), *options])


_CPU_KEYS = ("", "cpu", "arm_cpu")
"""Keys that say nothing beside -mcpu."""


def is_target(listed: Target | str, target: Target) -> bool:
    """Whether a pool that lists `listed` means `target`: a string is its kind or a key."""
    if isinstance(listed, Target):
        return _text(listed) == _text(target)
    name = current_name(listed)
    return name == target.kind.name or name in list(target.keys)


def _text(target: Target) -> str:
    return _current_text(str(target))


@lru_cache(maxsize=64)
def _current_text(written: str) -> str:
    """Return a target that TVM wrote as a build takes it, without its host, which is the machine
    that drives it."""
    target = described_target(written)
    fields = {name: value for name, value in target.options.items() if name != "host"}
    if target.kind in TARGETS:
        # Keys of one's own tell devices apart, which may access different memories.
        given = option_text(fields.pop("keys", "")).split(",")
        own = sorted({key for key in given if key not in _CPU_KEYS})
        # A target that no build takes is compared as it is.
        with suppress(ValueError):
            fields = current_target(target).target
        fields = {**fields, "keys": own}
    return json.dumps({**fields, "kind": target.kind}, sort_keys=True)


def check_not_refused(name: str) -> None:
    """Check that a name is none of the targets of TVM 0.18 that there are no more.

    Raises
    ------
    ValueError
        it is one; the message says what to write.
    """
    row = find(TARGET_NAMES, name)
    if row is not None and row.verdict == REFUSED:
        raise ValueError(f'target "{name}" is not supported: {row.reason}')


def _accelerator_name(given: DescribedTarget) -> str:
    """Return the name of the accelerator that a target is."""
    supported = ", ".join(TARGETS)
    if given.is_complete and given.kind == _ACCELERATOR_KIND:
        keys = option_text(given.options.get("keys", "")).split(",")
        if keys[0]:
            return keys[0]
    is_kind = given.kind in Target.list_kinds()
    if is_kind or given.options:
        check_not_refused(given.kind)
    if is_kind:
        raise ValueError(f'target "{given.kind}" is not supported; supported: {supported}')
    if given.options or not _ACCELERATOR_NAME.fullmatch(given.kind):
        raise ValueError(f'unknown target "{given.text}"; supported: {supported}')
    return given.kind


def _cpu_target(given: DescribedTarget, options: Mapping[str, object]) -> Target:
    """Return the target of a CPU, of the CPU of this machine if it is "llvm -mcpu=native"."""
    if given.kind == "llvm" and options.get("mcpu") == NATIVE:
        check_native_triple(options.get("mtriple"))
        options = {**options, **native_cpu(_target(given, options).attrs.get("mattr") or ())}
    target = _target(given, options)
    core_of(target)
    return target


def _target(given: DescribedTarget, options: Mapping[str, object]) -> Target:
    try:
        return Target({"kind": given.kind, **options})
    except Exception as error:
        raise ValueError(
            f'unknown target "{given.text}": {str(error).splitlines()[0]}; '
            f"supported: {', '.join(TARGETS)}"
        ) from error
