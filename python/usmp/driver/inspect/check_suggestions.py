"""What makes a model fit that does not: the options that `tvmc check` tries."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from functools import cache

from usmp.driver.inspect.check_builds import Builds, ram_parts
from usmp.driver.inspect.check_places import Place
from usmp.driver.options.build_options import build_arguments
from usmp.driver.options.build_words import build_words, parse_build
from usmp.driver.terminal.progress import ProgressCallback
from usmp.explanation.suggestions import Suggestion, suggestions
from usmp.frontend.build_models import import_models
from usmp.planning.session import planning_session
from usmp.report.explanation.suggestions import NO_TIME
from usmp.report.fitting import Fitting
from usmp.report.verdicts import Verdict
from usmp.support.deadline import Deadline

SECONDS = 60
"""Most time for all suggestions of a command, in seconds. It ends searches and begins no trial; the
trials themselves are limited by work, so that they do not depend on the machine."""


class Suggestions:
    """The options that make a model fit, for boards, parts and limits.

    Parameters
    ----------
    options
        options of the command line.
    builds
        the builds without other options.
    stage
        shows the progress.
    """

    def __init__(
        self, options: argparse.Namespace, builds: Builds, stage: ProgressCallback
    ) -> None:
        self._builds = builds
        self._stage = stage
        self._deadline = Deadline(time.monotonic() + SECONDS)
        # Places of one core share the builds.
        self._with_flags = cache(lambda flag: Builds(_with_flag(options, flag), stage))

    def fitting(self, place: Place, verdict: Verdict) -> Fitting:
        """Return the first option or pair with which the model fits, else what misses least.

        Parameters
        ----------
        verdict
            the verdict without other options.
        """
        tried: list[Suggestion] = []
        outcomes: list[tuple[Suggestion, Verdict]] = []
        limit_bytes = self._limit_bytes(place, verdict)
        with planning_session(self._deadline), closing(self._tried(place, verdict)) as suggested:
            for suggestion in suggested:
                tried.append(suggestion)
                ram_bytes = suggestion.ram_bytes
                is_within = limit_bytes is None or (ram_bytes or 0) <= limit_bytes
                if _is_flag(suggestion) and is_within:
                    outcomes.append(self._outcome(place, suggestion))
                    if outcomes[-1][1].fits:
                        break
        least = min(filter(_is_flag, tried), key=lambda s: s.ram_bytes or 0, default=None)
        if least is not None and not outcomes:
            outcomes.append(self._outcome(place, least))
        found = min(outcomes, key=lambda each: _missing_bytes(each[1]), default=None)
        if found is not None and _missing_bytes(found[1]) >= _missing_bytes(verdict):
            found = None
        return self._described(place, verdict, tried, found)

    def _limit_bytes(self, place: Place, verdict: Verdict) -> int | None:
        """Return the RAM that the plan may take; None without a limit."""
        if place.is_board or verdict.ram.available is None:
            return None
        planned = sum(ram_parts(self._builds.module_of(place)).values())
        return verdict.ram.available - (verdict.ram.needed - planned)

    def _tried(self, place: Place, verdict: Verdict) -> Generator[Suggestion]:
        options = self._builds.options_of(place)
        metadata = self._builds.module_of(place).metadata
        with build_arguments(options, self._stage) as (models, arguments):
            shared_state = bool(arguments.pop("shared_state"))
            with planning_session() as session:
                yield from suggestions(
                    session,
                    import_models(models, shared_state, {}, {}),
                    arguments,
                    metadata,
                    has_code=bool(verdict.flash.missing),
                    limit_bytes=self._limit_bytes(place, verdict),
                    notify=self._stage,
                )

    def _outcome(self, place: Place, suggestion: Suggestion) -> tuple[Suggestion, Verdict]:
        return suggestion, self._with_flags(suggestion.flag).verdict(place)

    def _described(
        self,
        place: Place,
        verdict: Verdict,
        tried: Sequence[Suggestion],
        found: tuple[Suggestion, Verdict] | None,
    ) -> Fitting:
        planned = [s for s in tried if s.result.reason != NO_TIME]
        flag = what = application = command = ""
        if found is not None:
            suggestion, verdict = found
            flag, what, application = suggestion.flag, suggestion.what, suggestion.application
            words = build_words(_with_flag(self._builds.options_of(place), flag))
            command = shlex.join(["tvmc", "compile", *self._builds.files, *words])
        return Fitting(
            flag,
            what,
            application,
            command,
            verdict.ram,
            verdict.flash,
            verdict.why_not,
            [s.flag for s in planned],
            sum(bool(s.trial.parts) for s in planned),
            SECONDS,
            len(planned) == len(tried),
        )


def _is_flag(suggestion: Suggestion) -> bool:
    """Return whether a suggestion was planned, and is an option to add to the command line."""
    return suggestion.ram_bytes is not None and suggestion.flag.startswith("--")


def _missing_bytes(verdict: Verdict) -> int:
    return verdict.ram.missing + verdict.flash.missing + bool(verdict.why_not)


def _with_flag(options: argparse.Namespace, flag: str) -> argparse.Namespace:
    """Return the options with flags of `tvmc compile` added, which replace pass options."""
    words = shlex.split(flag)
    replaced = {setting.partition("=")[0] for setting in parse_build(words).pass_config}
    kept = [s for s in options.pass_config if s.partition("=")[0] not in replaced]
    own = build_words(argparse.Namespace(**{**vars(options), "pass_config": kept}))
    changed = {k: v for k, v in vars(parse_build([*own, *words])).items() if k != "FILE"}
    return argparse.Namespace(**{**vars(options), **changed, "extension": options.extension})
