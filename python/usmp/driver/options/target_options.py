"""`--target-llvm-mcpu` and similar options, which TVM's tvmc had, for attributes of `--target`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.driver.terminal.help import Rare
from usmp.names import TARGET_OPTIONS
from usmp.tvm018 import TARGET_OPTION_ROWS
from usmp.tvm018.targets import CMSIS_NN

if TYPE_CHECKING:
    from usmp.objects.target.described_target import OneTarget


def add_target_options(parser: Any) -> None:
    """Add an option for each attribute of a target. The help shows the core of target c alone,
    because `--target` says the others."""
    for kind, name in _options():
        is_shown = (kind, name) == ("c", "mcpu")
        parser.add_argument(
            f"--target-{kind}-{name}",
            metavar="CORE" if is_shown else "VALUE",
            help=Rare("the core of target c, such as cortex-m4 (tvmc list cores)")
            if is_shown
            else argparse.SUPPRESS,
        )


def full_target(options: argparse.Namespace) -> str:
    """Return the value of `--target`, with the attributes from the other options.

    Raises
    ------
    UsageError
        `--target` does not name the target of an option, or sets the attribute already.
    """
    from usmp.objects.target.described_target import split_targets

    targets = [str(target) for target in split_targets(options.target)]
    for kind, name in _options():
        value = getattr(options, f"target_{kind}_{name}".replace("-", "_"))
        if value is not None:
            _add(targets, kind, name, value, f"--target-{kind}-{name}={value}", "--target")
    return ",".join(targets)


def with_target_options(
    target: OneTarget | Sequence[OneTarget], options: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Return the targets with the attributes of `additional_target_options` of `tvmc.compile`.

    Parameters
    ----------
    target
        one target or several, each as text.
    options
        values of attributes, by the kind of target and the name of the attribute.

    Raises
    ------
    UsageError
        a target is no text, the target of an attribute is missing, or it has the attribute already.
    """
    from usmp.objects.target.described_target import option_text, split_targets

    targets: list[str] = []
    for item in split_targets(target):
        if not isinstance(item, str) or item.lstrip().startswith("{"):
            raise UsageError(
                f"additional_target_options: target={item} is no text; write the options into it"
            )
        targets.append(item)
    for kind, values in options.items():
        for name, value in values.items():
            text = option_text(value)
            option = f'additional_target_options["{kind}"]["{name}"]'
            _add(targets, kind, name, text, option, "target")
    return targets


def _options() -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each attribute of a target, current ones first."""
    for kind, rows in TARGET_OPTION_ROWS.items():
        old = [row.name.removeprefix("-") for row in rows]
        for name in dict.fromkeys([*TARGET_OPTIONS.get(kind, ()), *old]):
            yield kind, name


def _add(
    targets: list[str], kind: str, name: str, value: str, option: str, target_option: str
) -> None:
    """Add an attribute to the target of this kind. `option` and `target_option` are for errors."""
    for index, target in enumerate(targets):
        words = target.split()
        if words[:1] != [kind]:
            continue
        if f"-{name}={value}" in words:
            return
        if any(word.startswith(f"-{name}=") for word in words):
            raise UsageError(f'{option} and {target_option}="{target}" both give -{name}; give one')
        targets[index] = f"{target} -{name}={value}"
        return
    if kind == CMSIS_NN and any(target.split()[:1] == ["c"] for target in targets):
        # Target c replaces cmsis-nn, so that the core of cmsis-nn applies to c.
        targets.append(f"{kind} -{name}={value}")
        return
    raise UsageError(f'{option}: {target_option}={",".join(targets)} does not name "{kind}"')
