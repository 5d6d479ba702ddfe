"""`--target-llvm-mcpu` and the like: what `--target` can say itself, as TVM's tvmc took it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from usmp.driver.errors import UsageError
from usmp.names import TARGET_OPTIONS
from usmp.tvm018 import TARGET_OPTION_ROWS


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
    return with_options(options.target, _given(options))


def with_options(target: str, options: Iterable[tuple[str, str, str]]) -> str:
    """Return the text of targets with options added.

    Parameters
    ----------
    target
        as `--target` takes it.
    options
        the kind of a target, such as "c", and name and value of an option.

    Raises
    ------
    UsageError
        an option of a target that is not named, or that has another value for it.
    """
    from usmp.objects.described_target import split_targets

    targets = [str(each) for each in split_targets(target)]
    for kind, name, value in options:
        _add(targets, kind, name, value)
    return ",".join(targets)


def _options() -> Iterator[tuple[str, str]]:
    """Yield kind and name of each option of a target, those of today first."""
    for kind, rows in TARGET_OPTION_ROWS.items():
        old = [row.name.removeprefix("-") for row in rows]
        for name in dict.fromkeys([*TARGET_OPTIONS.get(kind, ()), *old]):
            yield kind, name


def _given(options: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    for kind, name in _options():
        value = getattr(options, f"target_{kind}_{name}".replace("-", "_"))
        if value is not None:
            yield kind, name, value


def _add(targets: list[str], kind: str, name: str, value: str) -> None:
    flag = f"--target-{kind}-{name}={value}"
    for index, target in enumerate(targets):
        words = target.split()
        if words[:1] != [kind]:
            continue
        if f"-{name}={value}" in words:
            return
        if any(word.startswith(f"-{name}=") for word in words):
            raise UsageError(f'{flag} and --target="{target}" both give -{name}; give one')
        targets[index] = f"{target} -{name}={value}"
        return
    raise UsageError(f'{flag}: --target={",".join(targets)} does not name "{kind}"')
