"""What `tvmc explore` varies: `--vary`, `--config`, or a small sweep of its own.

A configuration is nothing but arguments of `tvmc compile`, so that the command that builds the same
is known, and nothing can be compared that cannot be built.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.driver.options.build_options import (
    LISTED_PASS_OPTIONS,
    SHORT_PASS_OPTIONS,
    add_build_options,
)
from usmp.driver.options.pool_flags import places_io, split_pool_flags
from usmp.driver.terminal.help import Parser
from usmp.driver.tvm018.flags import current_arguments
from usmp.names import BALANCED, OPTIMIZE, PASS_OPTIONS, SMALL
from usmp.support.plain_text import printable, shown
from usmp.tvm018 import COMPILE_FLAGS, REFUSED, find
from usmp.tvm018.old_name import tell_all

if TYPE_CHECKING:
    from usmp.exploration.sweep import Configuration

_PASS_PREFIX = "tir.usmp."
_MOST_CONFIGURATIONS = 10_000

DEFAULT_SWEEP = {
    "use_workspace_io": ("0", "1"),
    "optimize": OPTIMIZE,
    "code": (BALANCED, SMALL),
    "streaming": ("1", "0"),
}
"""What is varied unless `--vary` or `--config` says otherwise, as far as it is not given."""

_UNVARIED = ("FILE", "help", "export_state_layout")


@dataclass(frozen=True)
class Dimension:
    """An option that is varied.

    Parameters
    ----------
    name
        as the user writes it.
    option
        the pass option, or the option of `tvmc compile` with its hyphens.
    values
        texts that it takes.
    """

    name: str
    option: str
    values: tuple[str, ...]

    def arguments(self, value: str) -> list[str]:
        """What `tvmc compile` takes for a value."""
        if not self.option.startswith("--"):
            return [f"--pass-config={self.option}={value}"]
        if _action(self.option).nargs != 0:
            return [f"{self.option}={value}"]
        return [self.option] if value == "1" else []


def add_sweep_options(parser: Any) -> None:
    """Add the options."""
    group = parser.add_argument_group(
        "configurations",
        "What is varied. Every combination is tried. By default "
        + ", ".join(f"{name} ({', '.join(values)})" for name, values in DEFAULT_SWEEP.items())
        + ", but for what other options say.",
    )
    group.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="OPTION=VALUE,...",
        help="values of a pass option, as optimize=ram,speed for tir.usmp.optimize, or of an "
        "option of tvmc compile, as target-c-mcpu=cortex-m4,cortex-m33; of a switch 0,1; may be "
        'repeated; values with commas are written as JSON, as target=["accel,c","c"]',
    )
    group.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="NAME=FLAGS",
        help="a set of options of tvmc compile, such as those of memory pools, as "
        'one="--usmp-workspace-pools=sram --usmp-workspace-pool-sram=size=64K"; may be repeated, '
        "and each is combined with all that is varied",
    )


def configurations(options: argparse.Namespace) -> list[Configuration]:
    """The configurations, in order; each once.

    Raises
    ------
    UsageError
        an option is unknown, has no values, or is given and varied; a set of options is not one;
        too many configurations.
    """
    from usmp.exploration.sweep import Configuration

    base = build_arguments(options)
    beside = [*options.FILE, *base]
    sets = _sets(options.config, base, beside)
    dimensions = _dimensions(options, [options, *(each.parsed for each in sets)], beside)
    count = len(sets)
    for dimension in dimensions:
        count *= len(dimension.values)
    if count > _MOST_CONFIGURATIONS:
        raise UsageError(
            f"these are {count} configurations; a sweep may have {_MOST_CONFIGURATIONS}: vary less"
        )
    found: dict[tuple[str, ...], Configuration] = {}
    for each in sets:
        for values in product(*(dimension.values for dimension in dimensions)):
            chosen = list(zip(dimensions, values, strict=True))
            varied = [a for dimension, value in chosen for a in dimension.arguments(value)]
            arguments = tuple(build_arguments(parse_build([*base, *each.flags, *varied])))
            command = shlex.join(["tvmc", "compile", *options.FILE, *arguments])
            named = tuple((dimension.name, value) for dimension, value in chosen)
            configuration = Configuration(each.name, named, arguments, command)
            first = found.setdefault(arguments, configuration)
            if configuration.label not in (first.label, *first.duplicates):
                labels = (*first.duplicates, configuration.label)
                found[arguments] = replace(first, duplicates=labels)
    return list(found.values())


def parse_build(arguments: Sequence[str]) -> argparse.Namespace:
    """Options of `tvmc compile`, without files, as it parses them.

    Raises
    ------
    UsageError
        there is no such option, or it has no such value.
    """
    return _parser().parse_args(split_pool_flags(arguments))


def _current(arguments: Sequence[str], beside: Sequence[str]) -> list[str]:
    """Return options of `tvmc compile` as they are today, and tell the user of those of TVM 0.18.

    Parameters
    ----------
    arguments
        the options.
    beside
        files and options that each configuration has.

    Raises
    ------
    UsageError
        options that are refused.
    """
    (_, *current), old = current_arguments(["compile", *arguments], beside)
    tell_all(old)
    return current


def _check_is_current(text: str, name: str, value: str) -> None:
    """Check that an option that `--vary` names is none that only TVM 0.18 had.

    Raises
    ------
    UsageError
        it is one; the message has its reason.
    """
    row = find(COMPILE_FLAGS, f"--{name}", value)
    if row is not None and f"--{name}" not in _parser()._option_string_actions:
        taken = f'; write it in a --config, as {name}="--{name}={shown(value)}"'
        instead = "" if row.verdict == REFUSED else taken
        raise UsageError(f"--vary {shown(text)}: {printable(row.sentence(value))}{instead}")


def build_arguments(options: argparse.Namespace) -> list[str]:
    """The arguments that `parse_build` makes these options of, but for what is so by default; in
    the order of the help."""
    return [
        argument
        for action in _parser()._actions
        if action.dest not in _UNVARIED
        for argument in _written(action, getattr(options, action.dest))
    ]


def _written(action: argparse.Action, value: Any) -> Iterator[str]:
    if value == action.default or value is None:
        return
    flag = action.option_strings[-1]
    if action.nargs == 0:
        yield flag
        return
    for each in value if isinstance(value, list) else [value]:
        text = str(int(each)) if isinstance(each, bool) else str(each)
        # The name of a pool is part of its flag.
        is_named = flag.endswith("-NAME")
        yield f"{flag.removesuffix('NAME')}{text}" if is_named else f"{flag}={text}"


@cache
def _parser() -> Parser:
    parser = Parser(prog="tvmc explore")
    add_build_options(parser, needs_model=False)
    return parser


def _action(option: str) -> argparse.Action:
    """The option of `tvmc compile`.

    Raises
    ------
    KeyError
        there is none.
    """
    known = {
        name: action
        for action in _parser()._actions
        if action.dest not in _UNVARIED
        for name in action.option_strings
    }
    return known[option]


@dataclass(frozen=True)
class _FlagSet:
    """What `--config` says; one without a name stands for none."""

    name: str | None
    flags: list[str]
    parsed: argparse.Namespace


def _sets(given: Sequence[str], base: Sequence[str], beside: Sequence[str]) -> list[_FlagSet]:
    if not given:
        return [_FlagSet(None, [], parse_build([]))]
    sets: dict[str, _FlagSet] = {}
    for text in given:
        name, separator, flags = text.partition("=")
        name = name.strip()
        if not separator or not name or name.startswith("-"):
            raise UsageError(
                f'--config {shown(text)}: write it as NAME="FLAGS", as in '
                'fast="--target-c-mcpu=cortex-m4"'
            )
        if name in sets:
            raise UsageError(f"--config: {shown(name)} is given twice; take another name")
        try:
            words = _current(shlex.split(flags), beside)
            parsed = parse_build(words)
            parse_build([*base, *words])
        except ValueError as error:
            raise UsageError(f"--config {shown(name)}: {error}") from error
        if parsed.FILE or parsed.export_state_layout is not None:
            stray = [*parsed.FILE, "--export-state-layout"][0]
            raise UsageError(
                f"--config {shown(name)}: {shown(stray)} is no option of a configuration; give "
                "options of tvmc compile, and the model beside them"
            )
        sets[name] = _FlagSet(name, words, parsed)
    return list(sets.values())


def _dimensions(
    options: argparse.Namespace, given: Sequence[argparse.Namespace], beside: Sequence[str]
) -> list[Dimension]:
    fixed = {option for each in given for option in _given_options(each)}
    if not options.vary:
        if options.config:
            return []
        # Outside of the workspace, inputs and outputs lie in no pool.
        planned = {"use_workspace_io": ("1",)} if places_io(options) else {}
        return [
            Dimension(name, f"{_PASS_PREFIX}{name}", values)
            for name, values in {**DEFAULT_SWEEP, **planned}.items()
            if f"{_PASS_PREFIX}{name}" not in fixed
        ]
    found: dict[str, Dimension] = {}
    for text in options.vary:
        dimension = _dimension(text, beside)
        if dimension.option in found:
            raise UsageError(
                f"--vary {shown(text)}: {dimension.name} is varied twice; give all values at once"
            )
        if dimension.option in fixed:
            raise UsageError(
                f"--vary {shown(text)}: {dimension.name} has a value already, from an option or a "
                "--config; give it one way"
            )
        found[dimension.option] = dimension
    return list(found.values())


def _dimension(text: str, beside: Sequence[str]) -> Dimension:
    name, separator, listed = text.partition("=")
    name = name.strip().removeprefix("--")
    values = _values(text, listed)
    if not separator or not name or not values:
        raise UsageError(f"--vary {shown(text)}: write it as OPTION=VALUE,VALUE")
    for value in values:
        _check_is_current(text, name, value)
    dimension = Dimension(name, _option(name), values)
    if dimension.option.startswith("--") and _action(dimension.option).nargs == 0:
        known: tuple[str, ...] = ("0", "1")
    else:
        option = PASS_OPTIONS.get(dimension.option)
        known = option.values if option is not None and option.values else values
    for value in values:
        if value not in known:
            raise UsageError(
                f'--vary {shown(text)}: {name} takes {", ".join(known)}, not "{shown(value)}"'
            )
    for value in values:
        parse_build(_current(dimension.arguments(value), beside))
    return dimension


def _option(name: str) -> str:
    """The pass option, or the option of `tvmc compile`, that a name means."""
    if name in PASS_OPTIONS or "." in name:
        return name
    if f"{_PASS_PREFIX}{name}" in PASS_OPTIONS:
        return f"{_PASS_PREFIX}{name}"
    dest = name.replace("-", "_")
    if dest in SHORT_PASS_OPTIONS:
        return SHORT_PASS_OPTIONS[dest]
    try:
        _action(f"--{name}")
    except KeyError:
        raise UsageError(
            f'--vary: there is no option "{shown(name)}"; name a pass option (tvmc list '
            "pass-configs), as optimize, or an option of tvmc compile, as target-c-mcpu"
        ) from None
    return f"--{name}"


def _values(text: str, listed: str) -> tuple[str, ...]:
    """Values with commas between them, or of a list in JSON; each once."""
    if not listed.startswith("["):
        values = [value.strip() for value in listed.split(",")]
        return tuple(dict.fromkeys(values)) if all(values) else ()
    try:
        parsed = json.loads(listed)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--vary {shown(text)}: the values are no JSON ({error})") from None
    return tuple(
        dict.fromkeys(value if isinstance(value, str) else json.dumps(value) for value in parsed)
    )


def _given_options(options: argparse.Namespace) -> Iterator[str]:
    """The options that have a value, as `Dimension.option` names them."""
    for setting in options.pass_config:
        yield setting.partition("=")[0]
    for dest, name in {**SHORT_PASS_OPTIONS, **LISTED_PASS_OPTIONS}.items():
        if getattr(options, dest):
            yield name
    for action in _parser()._actions:
        if action.dest not in _UNVARIED and any(_written(action, getattr(options, action.dest))):
            yield action.option_strings[-1]
