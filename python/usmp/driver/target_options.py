"""`--target-llvm-mcpu` and the like: what `--target` can say itself, as TVM's tvmc took it."""

from __future__ import annotations

import argparse
from typing import Any

from usmp.driver.errors import UsageError
from usmp.names import TARGET_OPTIONS


def add_target_options(parser: Any) -> None:
    """Add an option for each thing that can be said of a target."""
    for kind, names in TARGET_OPTIONS.items():
        for name in names:
            parser.add_argument(
                f"--target-{kind}-{name}",
                metavar="VALUE",
                help=f'the same as -{name}=VALUE after "{kind}" in --target',
            )


def full_target(options: argparse.Namespace) -> str:
    """`--target`, with what the other options add to it.

    Raises
    ------
    UsageError
        an option of a target that `--target` does not name, or already gives it.
    """
    from usmp.objects.targets import split_targets

    targets = [str(target) for target in split_targets(options.target)]
    for kind, names in TARGET_OPTIONS.items():
        for name in names:
            value = getattr(options, f"target_{kind}_{name}".replace("-", "_"))
            if value is not None:
                _add(targets, kind, name, value)
    return ",".join(targets)


def _add(targets: list[str], kind: str, name: str, value: str) -> None:
    flag = f"--target-{kind}-{name}={value}"
    for index, target in enumerate(targets):
        if target.split()[:1] == [kind]:
            if f"-{name}=" in target:
                raise UsageError(f'{flag} and --target="{target}" both give -{name}; give one')
            targets[index] = f"{target} -{name}={value}"
            return
    raise UsageError(f'{flag}: --target={",".join(targets)} does not name "{kind}"')
