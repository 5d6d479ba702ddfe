"""The configurations of `tvmc explore`: from `--vary`, `--config`, or a small default sweep.

A configuration is a list of arguments of `tvmc compile`, so that a single command builds it.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.driver.options.build_options import LISTED_PASS_OPTIONS, SHORT_PASS_OPTIONS
from usmp.driver.options.build_words import build_flags, build_words, given_flags, parse_build
from usmp.driver.options.pool_flags import places_io
from usmp.driver.tvm018.flags import current_arguments
from usmp.names import (
    BALANCED,
    OPTIMIZE,
    OPTIONAL_PASSES,
    PASS_OPTIONS,
    SMALL,
    STREAM_OPERATORS,
)
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import printable, shown
from usmp.tvm018 import COMPILE_FLAGS, REFUSED, find
from usmp.tvm018.old_name import tell_all
from usmp.tvm018.pass_options import DISABLED_PASS, RENAMED_CONFIGS

if TYPE_CHECKING:
    from usmp.exploration.sweep import Configuration

_PASS_PREFIX = "tir.usmp."
_MOST_CONFIGURATIONS = 10_000

_SWITCH: tuple[str, ...] = ("0", "1")

DEFAULT_SWEEP = {
    "use_workspace_io": _SWITCH,
    "optimize": tuple(OPTIMIZE),
    "code": (BALANCED, SMALL),
    STREAM_OPERATORS: ("1", "0"),
}
"""Pass options, and passes, that vary by default, unless the command line sets them."""

_SHORT_FLAGS = {
    option: f"--{dest.replace('_', '-')}" for dest, option in SHORT_PASS_OPTIONS.items()
}


@dataclass(frozen=True)
class Dimension:
    """An option that varies.

    Parameters
    ----------
    name
        name as the user writes it.
    option
        name of the pass option or of an optional pass, or flag of `tvmc compile` with its hyphens.
    values
        values to try, as text.
    """

    name: str
    option: str
    values: tuple[str, ...]

    def arguments(self, value: str) -> list[str]:
        """Return the arguments of `tvmc compile` that set the option to a value."""
        if self.option in OPTIONAL_PASSES:
            return [] if value == "1" else [f"--disabled-pass={self.option}"]
        flag = _SHORT_FLAGS.get(self.option, self.option)
        if not flag.startswith("--"):
            return [f"--pass-config={flag}={value}"]
        if build_flags()[flag].nargs != 0:
            return [f"{flag}={value}"]
        return [flag] if value == "1" else []


def add_sweep_options(parser: Any) -> None:
    """Add `--vary` and `--config`."""
    group = parser.add_argument_group(
        "configurations",
        "Every combination is tried, by default of "
        + ", ".join(f"{name} ({', '.join(values)})" for name, values in DEFAULT_SWEEP.items())
        + ".",
    )
    group.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="OPTION=VALUE,...",
        help="values of a pass option, as optimize=ram,speed, of an option of tvmc compile, as "
        "target-c-mcpu=cortex-m4,cortex-m33, or of a pass, as StreamOperators=0,1; may be "
        'repeated, and values with commas are JSON, as target=["accel,c","c"]',
    )
    group.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="NAME=FLAGS",
        help="a set of options of tvmc compile to combine with all that is varied, as "
        'one="--workspace-io --board mps2-an385"; may be repeated',
    )


def configurations(options: argparse.Namespace) -> list[Configuration]:
    """Return the configurations in order, without duplicates.

    Raises
    ------
    UsageError
        an option is unknown, has no values, or is both fixed and varied; a `--config` is malformed;
        there are too many configurations.
    """
    from usmp.exploration.sweep import Configuration

    base = build_words(options)
    common = [*options.FILE, *base]
    sets = _sets(options.config, base, common)
    dimensions = _dimensions(options, [options, *(flag_set.parsed for flag_set in sets)], common)
    count = len(sets)
    for dimension in dimensions:
        count *= len(dimension.values)
    if count > _MOST_CONFIGURATIONS:
        raise UsageError(
            f"these are {count} configurations; a sweep may have {_MOST_CONFIGURATIONS}: vary less"
        )
    by_arguments: dict[tuple[str, ...], Configuration] = {}
    for flag_set in sets:
        for values in product(*(dimension.values for dimension in dimensions)):
            chosen = list(zip(dimensions, values, strict=True))
            varied = [a for dimension, value in chosen for a in dimension.arguments(value)]
            arguments = tuple(build_words(parse_build([*base, *flag_set.flags, *varied])))
            command = shlex.join(["tvmc", "compile", *options.FILE, *arguments])
            named = tuple((dimension.name, value) for dimension, value in chosen)
            configuration = Configuration(flag_set.name, named, arguments, command)
            first = by_arguments.setdefault(arguments, configuration)
            if configuration.label not in (first.label, *first.duplicates):
                labels = (*first.duplicates, configuration.label)
                by_arguments[arguments] = replace(first, duplicates=labels)
    return list(by_arguments.values())


def _current(arguments: Sequence[str], common: Sequence[str]) -> list[str]:
    """Translate options of TVM 0.18 into current ones, and warn about each.

    Parameters
    ----------
    arguments
        options of `tvmc compile`.
    common
        files and options that all configurations share.

    Raises
    ------
    UsageError
        an option of TVM 0.18 is refused.
    """
    (_, *current), old_names = current_arguments(["compile", *arguments], common)
    tell_all(old_names)
    return current


def _check_is_current(text: str, name: str, value: str) -> None:
    """Raise UsageError if `--vary` names an option that only TVM 0.18 had."""
    row = find(COMPILE_FLAGS, f"--{name}", value)
    if row is not None and f"--{name}" not in build_flags():
        advice = f'; write it in a --config, as {name}="--{name}={shown(value)}"'
        shown_advice = "" if row.verdict == REFUSED else advice
        raise UsageError(f"--vary {shown(text)}: {printable(row.sentence(value))}{shown_advice}")


@dataclass(frozen=True)
class _FlagSet:
    """The options of one `--config`. The name is None if there is no `--config`."""

    name: str | None
    flags: list[str]
    parsed: argparse.Namespace


def _sets(texts: Sequence[str], base: Sequence[str], common: Sequence[str]) -> list[_FlagSet]:
    if not texts:
        return [_FlagSet(None, [], parse_build([]))]
    sets: dict[str, _FlagSet] = {}
    for text in texts:
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
            words = _current(shlex.split(flags), common)
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
    options: argparse.Namespace, option_sets: Sequence[argparse.Namespace], common: Sequence[str]
) -> list[Dimension]:
    fixed = {option for option_set in option_sets for option in _given_options(option_set)}
    if not options.vary:
        if options.config:
            return []
        # Options that place inputs and outputs in pools require them in the workspace.
        planned = {"use_workspace_io": ("1",)} if places_io(options) else {}
        return [
            Dimension(name, _option(name), values)
            for name, values in {**DEFAULT_SWEEP, **planned}.items()
            if _option(name) not in fixed
        ]
    by_option: dict[str, Dimension] = {}
    for text in options.vary:
        dimension = _dimension(text, common)
        if dimension.option in by_option:
            raise UsageError(
                f"--vary {shown(text)}: {dimension.name} is varied twice; give all values at once"
            )
        if dimension.option in fixed:
            raise UsageError(
                f"--vary {shown(text)}: {dimension.name} has a value already, from an option or a "
                "--config; give it one way"
            )
        by_option[dimension.option] = dimension
    return list(by_option.values())


def _dimension(text: str, common: Sequence[str]) -> Dimension:
    name, separator, listed = text.partition("=")
    name = name.strip().removeprefix("--")
    values = _values(text, listed)
    if not separator or not name or not values:
        raise UsageError(f"--vary {shown(text)}: write it as OPTION=VALUE,VALUE")
    for value in values:
        _check_is_current(text, name, value)
    name = _current_name(name)
    dimension = Dimension(name, _option(name), values)
    is_flag = dimension.option.startswith("--") and build_flags()[dimension.option].nargs == 0
    if is_flag or dimension.option in OPTIONAL_PASSES:
        known = _SWITCH
    else:
        option = PASS_OPTIONS.get(dimension.option)
        known = tuple(option.values) if option is not None and option.values else values
    for value in values:
        if value not in known:
            problem = f'--vary {shown(text)}: {name} cannot be "{shown(value)}"'
            raise UsageError(unknown_name(problem, value, known, "Values"))
    for value in values:
        parse_build(_current(dimension.arguments(value), common))
    return dimension


def _current_name(name: str) -> str:
    """Return the pass that replaces a pass option of the previous release, or the name itself."""
    row = find(RENAMED_CONFIGS, f"{_PASS_PREFIX}{name.removeprefix(_PASS_PREFIX)}", "0")
    option, _, pass_name = row.to[0].partition("=") if row is not None and row.to else ("", "", "")
    if row is None or option != DISABLED_PASS:
        return name
    row.tell("0")
    return pass_name


def _option(name: str) -> str:
    """Return the pass option, pass or option of `tvmc compile` that a name abbreviates."""
    if name in OPTIONAL_PASSES or name in PASS_OPTIONS or "." in name:
        return name
    if f"{_PASS_PREFIX}{name}" in PASS_OPTIONS:
        return f"{_PASS_PREFIX}{name}"
    dest = name.replace("-", "_")
    if dest in SHORT_PASS_OPTIONS:
        return SHORT_PASS_OPTIONS[dest]
    if f"--{name}" not in build_flags():
        flags = (flag.removeprefix("--") for flag in build_flags())
        known = [*(option.removeprefix(_PASS_PREFIX) for option in PASS_OPTIONS), *flags]
        see = (
            "Name a pass option (tvmc list pass-configs), such as optimize, or an option of tvmc "
            "compile, such as target-c-mcpu"
        )
        problem = f'--vary: there is no option "{shown(name)}"'
        raise UsageError(unknown_name(problem, name, known, "Options", see))
    return f"--{name}"


def _values(text: str, listed: str) -> tuple[str, ...]:
    """Parse values separated by commas, or a JSON list. Drop duplicates."""
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
    """Yield the options that the user set, as `Dimension.option` names them."""
    for setting in options.pass_config:
        yield setting.partition("=")[0]
    for names in options.disabled_pass:
        yield from names.replace("usmp.", "").split(",")
    for dest, name in {**SHORT_PASS_OPTIONS, **LISTED_PASS_OPTIONS}.items():
        if getattr(options, dest):
            yield name
    yield from given_flags(options)
