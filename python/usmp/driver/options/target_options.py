"""`--target-llvm-mcpu` and the like: what `--target` can say itself, as TVM's tvmc took it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.names import TARGET_OPTIONS
from usmp.tvm018 import TARGET_OPTION_ROWS
from usmp.tvm018.targets import CMSIS_NN

if TYPE_CHECKING:
    from usmp.objects.described_target import OneTarget


def add_target_options(parser: Any) -> None:
    """Add an option for each thing that can be said of a target; the help shows those that are not
    TVM 0.18's alone."""
    for kind, name in _options():
        is_shown = name in TARGET_OPTIONS.get(kind, ())
        parser.add_argument(
            f"--target-{kind}-{name}",
            metavar="VALUE",
            help=f'the same as -{name}=VALUE after "{kind}" in --target'
            if is_shown
            else argparse.SUPPRESS,
        )


def full_target(options: argparse.Namespace) -> str:
    """`--target`, with what the other options add to it.

    Raises
    ------
    UsageError
        an option of a target that `--target` does not name, or already gives it.
    """
    from usmp.objects.described_target import split_targets

    targets = [str(each) for each in split_targets(options.target)]
    for kind, name in _options():
        value = getattr(options, f"target_{kind}_{name}".replace("-", "_"))
        if value is not None:
            _add(targets, kind, name, value, f"--target-{kind}-{name}={value}", "--target")
    return ",".join(targets)


def with_target_options(
    target: OneTarget | Sequence[OneTarget], options: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Return the targets with what `additional_target_options` of `tvmc.compile` adds to them.

    Parameters
    ----------
    target
        one or several, each a text.
    options
        values of options, by the kind of a target and the name of an option.

    Raises
    ------
    UsageError
        a target is no text; an option of a target that is not named, or that already has it.
    """
    from usmp.objects.described_target import option_text, split_targets

    targets: list[str] = []
    for each in split_targets(target):
        if not isinstance(each, str) or each.lstrip().startswith("{"):
            raise UsageError(
                f"additional_target_options: target={each} is no text; write the options into it"
            )
        targets.append(each)
    for kind, values in options.items():
        for name, value in values.items():
            text = option_text(value)
            option = f'additional_target_options["{kind}"]["{name}"]'
            _add(targets, kind, name, text, option, "target")
    return targets


def _options() -> Iterator[tuple[str, str]]:
    """Yield kind and name of each option of a target, those of today first."""
    for kind, rows in TARGET_OPTION_ROWS.items():
        old = [row.name.removeprefix("-") for row in rows]
        for name in dict.fromkeys([*TARGET_OPTIONS.get(kind, ()), *old]):
            yield kind, name


def _add(
    targets: list[str], kind: str, name: str, value: str, option: str, target_option: str
) -> None:
    """Add an option to the target of this kind; the last two are for errors."""
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
        # Target c takes the place of cmsis-nn, and its core is that of both.
        targets.append(f"{kind} -{name}={value}")
        return
    raise UsageError(f'{option}: {target_option}={",".join(targets)} does not name "{kind}"')
