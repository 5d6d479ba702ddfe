"""Which targets is a model built for? One CPU, and the accelerators beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tvm.target import Target

from usmp.names import REPLACED_TARGETS, TARGET_OPTIONS, TARGETS
from usmp.objects.cores import core_of
from usmp.objects.native_cpu import NATIVE, check_native_triple, native_cpu

_OPTIONS = TARGET_OPTIONS["llvm"]
"""The options that either target takes, as "-mcpu=cortex-m3"."""

_ACCELERATOR_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LISTS = ("mattr",)

OneTarget: TypeAlias = str | Target | Mapping[str, Any]


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
    """

    cpu: Target
    accelerators: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """All of them, as pools name those that may access them; accelerators first."""
        return [*self.accelerators, str(self.cpu.kind.name)]


def parse_targets(targets: OneTarget | Sequence[OneTarget] | BuildTargets) -> BuildTargets:
    """Read "c", "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3", "accel,c" or a list of these.

    Raises
    ------
    ValueError
        not one CPU among them, a name, an option or a core that is not known, a name twice, or
        one of TVM 0.18 that is no more.
    """
    if isinstance(targets, BuildTargets):
        return targets
    cpus: list[Target] = []
    accelerators: list[str] = []
    for target in split_targets(targets):
        parsed = _parse_one(target)
        if isinstance(parsed, Target):
            cpus.append(parsed)
        elif parsed in accelerators:
            raise ValueError(f'the target "{parsed}" is named twice')
        else:
            accelerators.append(parsed)
    supported = ", ".join(TARGETS)
    if not cpus:
        unknown = f'unknown target "{accelerators[0]}"' if accelerators else "no target"
        raise ValueError(
            f"{unknown}; supported: {supported}, "
            'and names of accelerators beside one of these, as in "accel,c"'
        )
    if len(cpus) > 1:
        raise ValueError(
            f"{len(cpus)} targets run the model's main function; name one of {supported}"
        )
    return BuildTargets(cpus[0], tuple(accelerators))


def accelerator_target(name: str) -> Target:
    """The target of PrimFuncs that run on an accelerator; pools name it by `name`."""
    return Target({"kind": "ext_dev", "keys": [name]})


def accelerator_of(target: Target | None) -> str | None:
    """The name of the accelerator that `target` means, or None."""
    if target is None or target.kind.name != "ext_dev":
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


def is_target(listed: Target | str, target: Target) -> bool:
    """Whether a pool that lists `listed` means `target`: a string is its kind or a key."""
    if isinstance(listed, Target):
        return _text(listed) == _text(target)
    return listed == target.kind.name or listed in list(target.keys)


def _text(target: Target) -> str:
    """The target without its host, which is the machine that drives it."""
    fields = json.loads(str(target))
    fields.pop("host", None)
    return json.dumps(fields, sort_keys=True)


def split_targets(targets: OneTarget | Sequence[OneTarget]) -> list[OneTarget]:
    """The single targets: commas divide them, but not the features of "-mattr=+dsp,+fp".

    Raises
    ------
    ValueError
        something else than targets.
    """
    if isinstance(targets, Target | Mapping):
        return [targets]
    if isinstance(targets, str):
        # What is JSON is TVM's own form of one target.
        if targets.lstrip().startswith("{"):
            return [targets]
        return [part.strip() for part in re.split(r",(?![+-])", targets)]
    if not isinstance(targets, Sequence):
        raise ValueError(f'unknown target "{targets}"; supported: {", ".join(TARGETS)}')
    return [part for target in targets for part in split_targets(target)]


def _parse_one(target: OneTarget) -> Target | str:
    """A CPU's target, or the name of an accelerator."""
    if isinstance(target, Mapping):
        parsed: Target | str = _target(target, str(target))
    else:
        parsed = target if isinstance(target, Target) else _parse_text(target)
    if isinstance(parsed, Target) and parsed.kind.name not in TARGETS:
        accelerator = accelerator_of(parsed)
        if accelerator is not None:
            return accelerator
        raise ValueError(
            f'target "{parsed.kind.name}" is not supported; supported: {", ".join(TARGETS)}'
        )
    if isinstance(parsed, Target):
        parsed = _with_cpu_of_this_machine(parsed)
        core_of(parsed)
    return parsed


def _parse_text(text: str) -> Target | str:
    kind, *options = text.split() or [""]
    if kind.startswith("{"):
        return _target(text, text)
    if kind in REPLACED_TARGETS:
        raise ValueError(f'target "{kind}" is no more: {_replacement(kind, options)}')
    if kind in TARGETS:
        return _target({"kind": kind, **dict(_option(option, text) for option in options)}, text)
    if kind in Target.list_kinds():
        return _target(kind, text)
    if options or not _ACCELERATOR_NAME.fullmatch(kind):
        raise ValueError(f'unknown target "{text}"; supported: {", ".join(TARGETS)}')
    return kind


def _replacement(kind: str, options: Sequence[str]) -> str:
    """What to write for a target of TVM 0.18, with the core that its options named."""
    cores = [option.partition("=")[2] for option in options if option.startswith("-mcpu=")]
    return REPLACED_TARGETS[kind].format(core=cores[0] if cores else "cortex-m55")


def _with_cpu_of_this_machine(target: Target) -> Target:
    """Return the target, for the CPU of this machine if it is "llvm -mcpu=native"."""
    if target.kind.name != "llvm" or target.attrs.get("mcpu") != NATIVE:
        return target
    given = {name: target.attrs[name] for name in _OPTIONS if target.attrs.get(name)}
    return Target({"kind": "llvm", **given, **native_cpu(target.attrs.get("mattr") or ())})


def _target(description: object, text: str) -> Target:
    if isinstance(description, Mapping) and description.get("mcpu") == NATIVE:
        check_native_triple(description.get("mtriple"))
    try:
        return Target(description)
    except Exception as error:
        raise ValueError(
            f'unknown target "{text}": {str(error).splitlines()[0]}; '
            f"supported: {', '.join(TARGETS)}"
        ) from error


def _option(option: str, text: str) -> tuple[str, object]:
    """One "-name=value" of a target."""
    name, separator, value = option.lstrip("-").partition("=")
    if not option.startswith("-") or not separator or name not in _OPTIONS:
        raise ValueError(
            f'target "{text}": unknown option "{option}"; supported: '
            + ", ".join(f"-{known}=" for known in _OPTIONS)
        )
    return name, value.split(",") if name in _LISTS else value
