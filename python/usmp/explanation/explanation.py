"""usmp.explain: build a model, explain its peak, and try builds with one option changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.build_module import build
from usmp.current_context import changed_context, in_current_context
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.explanation.plan_facts import Planned, noting_what_is_planned, plan_facts
from usmp.explanation.trials import Trial, trials
from usmp.frontend.build_models import Model, import_models
from usmp.objects import Executor
from usmp.planning.options import PlanningOptions, planning_options
from usmp.planning.session import PlanningSession, planning_session
from usmp.report.explanation import (
    explanation_document,
    explanation_json,
    explanation_markdown,
    explanation_text,
)
from usmp.report.explanation.sentences import NO_TIME
from usmp.support.deadline import Deadline, earliest, has_passed
from usmp.support.errors import FaultError, UnsupportedModelError
from usmp.support.process.compiler_lock import one_at_a_time
from usmp.support.text.plain_text import printable

_LONGEST_REASON = 160
"""Most characters of an error in a document."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The reasons for the memory that a model needs.

    Parameters
    ----------
    module
        the compiled model.
    document
        all facts, as `to_json` writes them.
    """

    module: AOTExecutorFactoryModule
    document: Mapping[str, Any]

    @cached_property
    def _text(self) -> str:
        return explanation_text(self.document)

    def __str__(self) -> str:
        """Return the text that `tvmc explain` prints."""
        return self._text

    def to_json(self) -> str:
        """Return the document as JSON, sizes in bytes: `{"schema": "usmp.explanation", ...}`."""
        return explanation_json(self.document)

    def to_markdown(self) -> str:
        """Return the explanation as Markdown, with headings and tables."""
        return explanation_markdown(self.document)

    def _repr_markdown_(self) -> str:
        """Return the text that notebooks show."""
        return self.to_markdown()


@one_at_a_time
@in_current_context
def explain(
    mod: Model | Sequence[Model] | Mapping[str, Model],
    *,
    suggestions: bool = True,
    progress: Callable[[str], None] | None = None,
    **arguments: Any,
) -> Explanation:
    """Build a model, and explain its peak and the options that would reduce it.

    For each workspace pool, the explanation names the operator at the peak, the buffers that are
    live there and why, the pairs of live buffers that share no more bytes and why, and the buffers
    that force the peak. It states whether the peak is proved to be the lowest. To measure
    reductions, the model is planned again with each option changed. Options come from the current
    `PassContext`, as for `usmp.build`.

    Parameters
    ----------
    mod
        see `usmp.build`.
    suggestions
        whether the model is planned again with other options.
    progress
        called with the name of each step when it begins.
    arguments
        arguments of `usmp.build`, by name.

    Raises
    ------
    ValueError
        see `usmp.build`, also for other errors. The unchanged model has to fit its pools.
    """
    start_seconds = time.monotonic()
    notify = progress or (lambda _: None)
    executor = arguments.get("executor") or "aot"
    arguments |= {"executor": executor if isinstance(executor, Executor) else Executor(executor)}
    shared_state = bool(arguments.pop("shared_state", False))
    # Import once, so that all builds share a module, and the session reuses analyses of it.
    sizes, shapes = (arguments.pop(name, None) or {} for name in ("max_sizes", "input_shapes"))
    imported = import_models(mod, shared_state, sizes, shapes)
    planned = Planned()
    noting = [*PassContext.current().instruments, noting_what_is_planned(planned)]
    deadline = planning_options().deadline(start_seconds)
    with planning_session(deadline) as session:
        # Plan the model itself first, and leave half of the time to suggestions.
        own = session.deadline and session.deadline.share(2 if suggestions else 1)
        with planning_session(own), changed_context(instruments=noting):
            module = build(imported, **arguments)
        metadata = module.metadata["modules"][module.module_name]
        notify("explaining")
        facts = plan_facts(session, planned, metadata)
        tried = None
        if suggestions:
            tried = _tried(session, imported, arguments, planned.options, metadata, notify)
    return Explanation(module, explanation_document(metadata, facts, tried))


def _tried(
    session: PlanningSession,
    mod: IRModule,
    arguments: Mapping[str, Any],
    options: PlanningOptions,
    metadata: Mapping[str, Any],
    notify: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Return the outcome of each trial. The remaining time is divided equally."""
    config = {str(k): v for k, v in PassContext.current().config.items()}
    # Limit searches by work, so that plans are comparable; the deadline holds as well.
    quick = options.without_time()
    config = {k: v for k, v in config.items() if k != "tir.usmp.time_budget"}
    config["tir.usmp.algorithm"] = quick.algorithm
    disabled = [str(name) for name in PassContext.current().disabled_pass]
    candidates = list(trials(options, disabled, arguments, metadata))
    outcomes = []
    for number, trial in enumerate(candidates, 1):
        notify(f"trying {trial.flag} ({number} of {len(candidates)})")
        deadline = session.deadline
        if has_passed(deadline):
            outcome = _not_tried(trial, metadata["memory"])
            outcomes.append({**outcome, "refused": NO_TIME})
            continue
        share = deadline and deadline.share(len(candidates) + 1 - number)
        seconds = trial.search_seconds
        own = None if seconds is None else Deadline(time.monotonic() + seconds)
        with planning_session(earliest(share, own)), session.own_record():
            outcomes.append(_outcome(mod, arguments, config, trial, metadata["memory"]))
    return outcomes


def _outcome(
    mod: IRModule,
    arguments: Mapping[str, Any],
    config: Mapping[str, Any],
    trial: Trial,
    before: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the outcome of one trial, as plain data."""
    outcome = _not_tried(trial, before)
    changed = {k: v for k, v in {**config, **trial.config}.items() if v is not None}
    disabled = [n for n in PassContext.current().disabled_pass if n != f"usmp.{trial.enables}"]
    try:
        with changed_context(instruments=[], config=changed, disabled_pass=disabled):
            module = build(mod, **{**arguments, **trial.arguments})
        after = module.metadata["modules"][module.module_name]["memory"]
    except FaultError:
        raise
    except (ValueError, UnsupportedModelError) as error:
        return {**outcome, "refused": _in_few_words(error)}
    ram = after["ram"]["size_bytes"]
    saved = outcome["ram_bytes_before"] - ram
    return outcome | {
        "ram_bytes_after": ram,
        "saved_bytes": saved,
        "peaks_after": _peaks(after),
    }


def _not_tried(trial: Trial, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome of a trial that was not built, with None for unknown figures."""
    return {
        "name": trial.name,
        "flag": trial.flag,
        "what": trial.what,
        "pass_config": {k: v for k, v in trial.config.items() if v is not None},
        "ram_bytes_before": before["ram"]["size_bytes"],
        "ram_bytes_after": None,
        "saved_bytes": None,
        "peaks_before": _peaks(before),
        "peaks_after": None,
        "refused": None,
    }


def _peaks(memory: Mapping[str, Any]) -> dict[str, int]:
    return {p["name"]: p["peak_bytes"] for p in memory["pools"] if p["kind"] == "workspace"}


def _in_few_words(error: Exception) -> str:
    """Return the beginning of an error's text: its cause, without the advice."""
    text = printable(str(error).partition("\n")[0].partition("; ")[0]).rstrip(".")
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 3]}..."
