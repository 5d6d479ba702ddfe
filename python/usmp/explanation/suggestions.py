"""Suggestions: options, alone and in pairs, with the plans that they give.

`usmp.explain` and `tvmc check` share them. Each trial is a build that ends with its plan: no C is
written or compiled, and nothing runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, TypeAlias

from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.boards.emulator import EmulatorError
from usmp.build_module import build
from usmp.current_context import changed_context
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.explanation.measured import Measured
from usmp.explanation.trials import AS_IT_IS, LEAST_PERCENT, Trial, trials
from usmp.exploration.measure import planned_result
from usmp.exploration.result import BUILT, REFUSED, Result
from usmp.planning.options import planning_options
from usmp.planning.session import PlanningSession, planning_session
from usmp.report.explanation.suggestions import NO_TIME
from usmp.runtime import BuildError
from usmp.support.deadline import Deadline, earliest, has_passed
from usmp.support.errors import FaultError, UnsupportedModelError
from usmp.support.text.plain_text import printable

MOST_PAIRS = 3
"""Most pairs of options that are tried."""

_LONGEST_REASON = 160
"""Most characters of an error in a document."""

Measure: TypeAlias = Callable[[AOTExecutorFactoryModule], Measured]
"""Measures a compiled model."""


@dataclass(frozen=True)
class Suggestion:
    """An option or a pair of options, and what the model takes with it.

    Parameters
    ----------
    trial
        the options as flags of `tvmc`, and for `usmp.build`.
    result
        RAM, flash and instructions; for a refused option, the reason.
    peaks
        peak of each workspace pool, in bytes; None if the option is refused.
    measured_instructions
        instructions of a run in the emulator; None if there was none, so that those of the result
        are an estimate.
    """

    trial: Trial
    result: Result
    peaks: Mapping[str, int] | None = None
    measured_instructions: int | None = None

    @property
    def flag(self) -> str:
        """The flags of `tvmc`."""
        return self.trial.flag

    @property
    def what(self) -> str:
        """What the options do."""
        return self.trial.what

    @property
    def application(self) -> str:
        """What the application has to change, in a few words; empty for nothing."""
        return self.trial.application

    @property
    def ram_bytes(self) -> int | None:
        """RAM without the stack, in bytes; None if the option is refused."""
        return self.result.ram_bytes

    def saved_bytes(self, before: Suggestion) -> int | None:
        """Return the bytes of RAM that it saves; None if the option is refused."""
        if self.ram_bytes is None or before.ram_bytes is None:
            return None
        return before.ram_bytes - self.ram_bytes

    def figures(self) -> dict[str, Any]:
        """Return instructions, flash and code as plain data; None for what is not known.

        An estimate of fewer than half of the operators is left out, since builds could not be
        compared by it.
        """
        measured, result = self.measured_instructions, self.result
        is_known = 2 * (result.estimated_operators or 0) >= (result.operators or 0)
        estimate = result.instructions if is_known else None
        return {
            "instructions": estimate if measured is None else measured,
            "instructions_are_measured": measured is not None,
            "shared_code": self.result.shared_code,
            "flash_bytes": self.result.flash_bytes,
            "code_bytes": self.result.code_bytes,
        }

    def own_figures(self) -> dict[str, Any]:
        """Return `figures` of a model as it is, and how many of its operators have known costs."""
        result = self.result
        counts = {"operators": result.operators, "estimated_operators": result.estimated_operators}
        return {**self.figures(), **counts}

    def as_json(self, before: Suggestion) -> dict[str, Any]:
        """Return the outcome as plain data, compared with the model without the options."""
        return {
            "name": self.trial.name,
            "flag": self.flag,
            "pair_of": [part.flag for part in self.trial.parts],
            "what": self.what,
            "application": self.application,
            "pass_config": {k: v for k, v in self.trial.config.items() if v is not None},
            "ram_bytes_before": before.ram_bytes,
            "ram_bytes_after": self.ram_bytes,
            "saved_bytes": self.saved_bytes(before),
            **{f"{name}_before": figure for name, figure in before.figures().items()},
            **{f"{name}_after": figure for name, figure in self.figures().items()},
            "peaks_before": dict(before.peaks or {}),
            "peaks_after": None if self.peaks is None else dict(self.peaks),
            "refused": self.result.reason,
        }


def of_build(
    factory: AOTExecutorFactoryModule, measure: Measure | None = None, trial: Trial = AS_IT_IS
) -> Suggestion:
    """Return the figures of a build, for the trial that it is.

    Parameters
    ----------
    measure
        see `suggestions`.
    """
    metadata = factory.metadata["modules"][factory.module_name]
    result, instructions = (
        Measured(planned_result(metadata)) if measure is None else measure(factory)
    )
    pools = metadata["memory"]["pools"]
    peaks = {p["name"]: p["peak_bytes"] for p in pools if p["kind"] == "workspace"}
    return Suggestion(trial, result, peaks, instructions)


def suggestions(
    session: PlanningSession,
    mod: IRModule,
    arguments: Mapping[str, Any],
    metadata: Mapping[str, Any],
    *,
    has_code: bool = False,
    limit_bytes: int | None = None,
    measure: Measure | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Iterator[Suggestion]:
    """Yield options that may reduce the memory of a model, each when it is planned: single options,
    then up to `MOST_PAIRS` pairs of them, the most promising first.

    Options come from the current `PassContext`. The remaining time of the session is divided
    equally.

    Parameters
    ----------
    session
        the current session, which shares what the builds have in common.
    mod
        the imported model.
    arguments
        arguments of `usmp.build`.
    metadata
        metadata of the built model.
    has_code
        whether to try options that only make the code smaller, too.
    limit_bytes
        the RAM that there is; pairs that may be within it are tried first.
    measure
        measures a build, which then includes its C; by default figures are those of the plan.
    notify
        called with the name of each trial when it begins.
    """
    options = planning_options(workspace_io=arguments.get("board") is not None)
    # Limit searches by work, so that plans are comparable; the deadline holds as well.
    config = {str(k): v for k, v in PassContext.current().config.items()}
    config = {k: v for k, v in config.items() if k != "tir.usmp.time_budget"}
    config["tir.usmp.algorithm"] = options.without_time().algorithm
    single = list(trials(options, arguments, metadata, has_code))
    outcome = partial(_outcome, session, mod, arguments, config, measure)
    tried = []
    for number, trial in enumerate(single, 1):
        notify(f"trying {trial.flag} ({number} of {len(single)})")
        tried.append(outcome(trial, len(single) + MOST_PAIRS + 1 - number))
        yield tried[-1]
    pairs = _pairs(tried, planned_result(metadata), limit_bytes)
    for number, trial in enumerate(pairs, 1):
        notify(f"trying {trial.flag} (pair {number} of {len(pairs)})")
        yield outcome(trial, len(pairs) + 1 - number)


def _outcome(
    session: PlanningSession,
    mod: IRModule,
    arguments: Mapping[str, Any],
    config: Mapping[str, Any],
    measure: Measure | None,
    trial: Trial,
    remaining: int,
) -> Suggestion:
    """Return the outcome of one trial, which gets its share of the remaining time."""
    deadline = session.deadline
    if has_passed(deadline):
        return Suggestion(trial, Result(REFUSED, NO_TIME))
    share = deadline and deadline.share(remaining)
    seconds = trial.search_seconds
    own = None if seconds is None else Deadline(time.monotonic() + seconds)
    changed = {k: v for k, v in {**config, **trial.config}.items() if v is not None}
    try:
        with (
            planning_session(earliest(share, own)),
            session.own_record(),
            session.ending_at_plan(measure is None),
            changed_context(instruments=[], config=changed),
        ):
            return of_build(build(mod, **{**arguments, **trial.arguments}), measure, trial)
    except FaultError:
        raise
    except (ValueError, UnsupportedModelError, BuildError, EmulatorError) as error:
        return Suggestion(trial, Result(REFUSED, _in_few_words(error)))


def _pairs(tried: Sequence[Suggestion], own: Result, limit_bytes: int | None) -> list[Trial]:
    """Return the pairs to try, the least expected RAM first. A pair is expected to save more than
    either option alone, or to be within the limit. Options of the code go with all others."""
    expected: list[tuple[int, int, Trial]] = []
    planned = [s for s in tried if s.result.outcome == BUILT and s.trial.search_seconds is None]
    for first, second in combinations(planned, 2):
        pair = first.trial.combined(second.trial)
        if pair is None:
            continue
        least = min(_ram(first.result), _ram(second.result))
        ram = _expected_ram(first, second, own)
        is_less = ram <= least * (100 - LEAST_PERCENT) / 100
        is_within = limit_bytes is not None and ram <= limit_bytes < least
        if is_less or is_within or (second.trial.is_of_code and least < _ram(own)):
            expected.append((ram, len(expected), pair))
    return [pair for _, _, pair in sorted(expected, key=lambda each: each[:2])[:MOST_PAIRS]]


def _expected_ram(first: Suggestion, second: Suggestion, own: Result) -> int:
    """Return an estimate of the RAM of a pair: what both save, of the workspace and of the rest."""
    for one, other in ((first.result, second), (second.result, first)):
        if other.trial.name == "use_workspace_io" and other.result.io_bytes == 0:
            # At best inputs and outputs share all bytes with the rest.
            least = max(one.workspace_bytes or 0, one.io_bytes or 0)
            return max(least, _ram(other.result) - _ram(own) + _ram(one))
    return sum(
        max(getattr(first.result, part) + getattr(second.result, part) - getattr(own, part), 0)
        for part in ("workspace_bytes", "io_bytes")
    )


def _ram(result: Result) -> int:
    return result.ram_bytes or 0


def _in_few_words(error: Exception) -> str:
    """Return the beginning of an error's text: its cause, without the advice."""
    text = printable(str(error).partition("\n")[0].partition("; ")[0]).rstrip(".")
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 3]}..."
