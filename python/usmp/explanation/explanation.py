"""usmp.explain: a build, what is known of its peak, and builds with one option changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.build_module import build
from usmp.current_context import in_current_context
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
from usmp.support.compiler_lock import one_at_a_time
from usmp.support.deadline import Deadline, earliest, has_passed
from usmp.support.errors import FaultError, UnsupportedModelError
from usmp.support.plain_text import printable

_LONGEST_REASON = 160
"""Characters that are told of an error."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a model needs the memory that it does.

    Parameters
    ----------
    module
        the model, compiled.
    document
        all that is known, as `to_json` writes it.
    """

    module: AOTExecutorFactoryModule
    document: Mapping[str, Any]

    @cached_property
    def _text(self) -> str:
        return explanation_text(self.document)

    def __str__(self) -> str:
        """The text that `tvmc explain` prints."""
        return self._text

    def to_json(self) -> str:
        """The document: `{"schema": "usmp.explanation", "version": 1, ...}`; sizes are bytes."""
        return explanation_json(self.document)

    def to_markdown(self) -> str:
        """The text, with headings and tables of Markdown."""
        return explanation_markdown(self.document)

    def _repr_markdown_(self) -> str:
        """What notebooks show."""
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
    """Build a model, and say why its peak is what it is, and what would reduce it.

    For each workspace pool: the operator at the peak, the buffers that are live there with what
    keeps them alive, which of them may share no more bytes and why, which buffers force the peak,
    and whether it is proved to be the lowest. What would reduce it is not guessed: the model is
    planned again with each option changed. Options are those of the current `PassContext`, as for
    `usmp.build`.

    Parameters
    ----------
    mod
        as for `usmp.build`.
    suggestions
        whether the model is planned again with other options.
    progress
        is told what begins.
    arguments
        those of `usmp.build`, by name.

    Raises
    ------
    ValueError
        as `usmp.build`; so do the others. The model as it is has to fit its pools.
    """
    start_seconds = time.monotonic()
    tell = progress or (lambda _: None)
    executor = arguments.get("executor") or "aot"
    arguments |= {"executor": executor if isinstance(executor, Executor) else Executor(executor)}
    shared_state = bool(arguments.pop("shared_state", False))
    # Read once: what is built again is the same module, of which the session knows the facts.
    sizes, shapes = (arguments.pop(name, None) or {} for name in ("max_sizes", "input_shapes"))
    imported = import_models(mod, shared_state, sizes, shapes)
    planned = Planned()
    current = PassContext.current()
    noting = [*current.instruments, noting_what_is_planned(planned)]
    deadline = planning_options().deadline(start_seconds)
    with planning_session(deadline) as session:
        # Suggestions need the model's own plan first, and half of the time.
        own = session.deadline and session.deadline.share(2 if suggestions else 1)
        with planning_session(own), _context(dict(current.config), noting):
            module = build(imported, **arguments)
        metadata = module.metadata["modules"][module.module_name]
        tell("explaining")
        facts = plan_facts(session, planned, metadata)
        tried = None
        if suggestions:
            tried = _tried(session, imported, arguments, planned.options, metadata, tell)
    return Explanation(module, explanation_document(metadata, facts, tried))


def _tried(
    session: PlanningSession,
    mod: IRModule,
    arguments: Mapping[str, Any],
    options: PlanningOptions,
    metadata: Mapping[str, Any],
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Return what each of the trials brings. The time that remains is divided equally."""
    config = {str(k): v for k, v in PassContext.current().config.items()}
    # Plans of a fixed amount of work are compared, within the time of the command.
    quick = options.without_time()
    config = {k: v for k, v in config.items() if k != "tir.usmp.time_budget"}
    config["tir.usmp.algorithm"] = quick.algorithm
    candidates = list(trials(options, config, arguments, metadata))
    found = []
    for number, trial in enumerate(candidates, 1):
        tell(f"trying {trial.flag} ({number} of {len(candidates)})")
        deadline = session.deadline
        if has_passed(deadline):
            outcome = _not_tried(trial, metadata["memory"])
            found.append({**outcome, "refused": NO_TIME})
            continue
        share = deadline and deadline.share(len(candidates) + 1 - number)
        more = trial.search_seconds
        own = None if more is None else Deadline(time.monotonic() + more)
        with planning_session(earliest(share, own)), session.own_record():
            found.append(_outcome(mod, arguments, config, trial, metadata["memory"]))
    return found


def _outcome(
    mod: IRModule,
    arguments: Mapping[str, Any],
    config: Mapping[str, Any],
    trial: Trial,
    before: Mapping[str, Any],
) -> dict[str, Any]:
    """What one trial brings, as plain data."""
    outcome = _not_tried(trial, before)
    changed = {k: v for k, v in {**config, **trial.config}.items() if v is not None}
    try:
        with _context(changed, ()):
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
    """Return what is known of a trial without a build."""
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
    """The beginning of what an error says: its cause, without what to do."""
    text = printable(str(error).partition("\n")[0].partition("; ")[0]).rstrip(".")
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 3]}..."


def _context(config: Mapping[str, Any], instruments: Sequence[Any]) -> PassContext:
    """The current PassContext with other options and instruments."""
    current = PassContext.current()
    return PassContext(
        opt_level=current.opt_level,
        required_pass=list(current.required_pass),
        disabled_pass=list(current.disabled_pass),
        instruments=list(instruments),
        config=dict(config),
    )
