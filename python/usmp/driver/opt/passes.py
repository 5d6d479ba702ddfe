"""Parse the passes of `usmp-opt`, such as `AssignPoolInfo,usmp.LowerMain{target=c}`."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from tvm.ir.transform import Pass

from usmp.aot_pipeline import get_aot_pipeline
from usmp.boards.board import board_named
from usmp.boards.plan_for_board import PlanForBoard
from usmp.current_context import PASSES
from usmp.driver.errors import UsageError
from usmp.objects.target.targets import parse_targets
from usmp.support.text.known_names import unknown_name

_ONE = re.compile(r"\s*([\w.]+)\s*(?:\{([^{}]*)\})?\s*(,|$)")
_OF_TVM = re.compile(r"(relax|tirx|s_tir)\.transform\.(\w+)")

_NOT_BY_NAME = ("ConvertPoolAllocationsToOffsets",)
"""Passes that take a plan, which has no text form; `UnifiedStaticMemoryPlanner` runs them."""


def known_passes() -> dict[str, Callable[..., Pass]]:
    """Return the constructors of our passes, by name without `usmp.`, in alphabetical order."""
    makers = {name: make for name, make in PASSES.items() if name not in _NOT_BY_NAME}
    makers |= {"PlanForBoard": PlanForBoard}
    makers |= {"Pipeline": get_aot_pipeline}
    return dict(sorted(makers.items()))


def described_passes() -> Iterator[str]:
    """Yield the name, the options and the first paragraph of the docstring of each pass."""
    for name, make in known_passes().items():
        options = " ".join(f"{option}=" for option in _options_of(make))
        title = f"usmp.{name}" + (f"{{{options}}}" if options else "")
        summary = (inspect.getdoc(make) or "").split("\n\n")[0]
        yield f"{title}\n    {' '.join(summary.split())}"


def parse_passes(text: str) -> list[Pass]:
    """Parse a list of passes.

    Raises
    ------
    UsageError
        the text is malformed, a pass or an option is unknown, or an option is missing.
    """
    passes, start = [], 0
    while start < len(text.rstrip()):
        match = _ONE.match(text, start)
        if match is None:
            raise UsageError(
                f'--passes: cannot read "{text[start:]}"; write it as "A,B{{key=value other=x}}"'
            )
        passes.append(_make(match[1], match[2] or ""))
        start = match.end()
    return passes


def _make(name: str, text: str) -> Pass:
    make = _maker(name)
    known = _options_of(make)
    options: dict[str, Any] = {}
    for setting in text.split():
        key, separator, value = setting.partition("=")
        if not separator:
            raise UsageError(f'pass {name}: write "{setting}" as KEY=VALUE')
        if key not in known:
            problem = f'pass {name}: unknown option "{key}"'
            raise UsageError(unknown_name(problem, key, known, "Options"))
        options[key] = _value(key, value, known[key])
    missing = [
        key
        for key, parameter in known.items()
        if parameter.default is inspect.Parameter.empty and key not in options
    ]
    if missing:
        raise UsageError(f"pass {name}: needs {missing[0]}, as in {name}{{{missing[0]}=...}}")
    try:
        pass_ = make(**options)
    except TypeError as error:
        raise UsageError(f"pass {name}: {str(error).splitlines()[0]}") from error
    if not isinstance(pass_, Pass):
        raise UsageError(f"{name} is no pass")
    return pass_


def _maker(name: str) -> Callable[..., Any]:
    """Return the class or function that constructs a pass."""
    known = known_passes()
    if name.removeprefix("usmp.") in known:
        return known[name.removeprefix("usmp.")]
    match = _OF_TVM.fullmatch(name)
    if match is not None:
        make = getattr(import_module(f"tvm.{match[1]}.transform"), match[2], None)
        if callable(make):
            tvm_make: Callable[..., Any] = make
            return tvm_make
    see = (
        "See usmp-opt --list-passes. Passes of TVM are relax.transform.NAME, tirx.transform.NAME "
        "and s_tir.transform.NAME"
    )
    raise UsageError(unknown_name(f'unknown pass "{name}"', name, known, "Passes", see))


def _options_of(make: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters that can be passed by name."""
    # TVM wraps a pass class, and only its `__init__` keeps our signature.
    constructor = make.__init__ if inspect.isclass(make) else make
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(constructor).parameters
    return {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind in by_name and name != "self"
    }


def _value(key: str, text: str, parameter: inspect.Parameter) -> object:
    """Parse the value of an option by the annotation of the parameter."""
    annotation = str(parameter.annotation)
    if key == "target":
        return text if "OneTarget" in annotation else parse_targets(text).cpu
    if key == "board":
        return board_named(text)
    if "Sequence[str]" in annotation:
        return tuple(filter(None, text.split(",")))
    if annotation == "str":
        return text
    literal = {"true": "True", "false": "False"}.get(text, text)
    try:
        return ast.literal_eval(literal)
    except (SyntaxError, ValueError):
        return text
