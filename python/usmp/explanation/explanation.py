"""usmp.explain: build a model, explain its peak, and plan it again with other options."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from tvm.ir.transform import PassContext

from usmp.build_module import build
from usmp.current_context import changed_context, in_current_context
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.explanation.interleaving import why_not_interleaved
from usmp.explanation.measured import measured
from usmp.explanation.plan_facts import Planned, noting_what_is_planned, plan_facts
from usmp.explanation.suggestions import Suggestion, of_build
from usmp.explanation.suggestions import suggestions as suggested
from usmp.exploration.result import Result
from usmp.frontend.build_models import Model, import_models
from usmp.objects import Executor
from usmp.planning.options import planning_options
from usmp.planning.session import planning_session
from usmp.report.explanation import (
    explanation_document,
    explanation_json,
    explanation_markdown,
    explanation_text,
)
from usmp.support.process.compiler_lock import one_at_a_time


@dataclass(frozen=True, eq=False)
class Explanation:
    """The reasons for the memory that a model needs.

    Parameters
    ----------
    module
        the compiled model.
    document
        all facts, as `to_json` writes them.
    result
        RAM, flash and instructions of the model.
    suggestions
        the options that were tried, alone and in pairs, those that save most RAM first.
    """

    module: AOTExecutorFactoryModule
    document: Mapping[str, Any]
    result: Result
    suggestions: tuple[Suggestion, ...] = ()

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
    measure: bool = False,
    progress: Callable[[str], None] | None = None,
    **arguments: Any,
) -> Explanation:
    """Build a model, and explain its peak and the options that would reduce it.

    For each workspace pool, the explanation names the operator at the peak, the buffers that are
    live there and why, the pairs of live buffers that share no more bytes and why, and the buffers
    that force the peak. It states whether the peak is proved to be the lowest. To find
    reductions, the model is planned again with other options and with pairs of them. Options come
    from the current `PassContext`, as for `usmp.build`.

    Parameters
    ----------
    mod
        see `usmp.build`.
    suggestions
        whether the model is planned again with other options.
    measure
        whether the C of each plan is compiled, so that flash includes code. With a board, each also
        runs in the emulator once, which counts instructions; else they are estimated.
    progress
        called with the name of each step when it begins.
    arguments
        arguments of `usmp.build`, by name.

    Raises
    ------
    ValueError
        see `usmp.build`, also for other errors. The unchanged model has to fit its pools.
    BuildError, EmulatorError
        C cannot be compiled, or a program cannot run.
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
        reason = why_not_interleaved(session, planned, metadata)
        how = partial(measured, board=module.board) if measure else None
        as_it_is = of_build(module, how)
        found: Sequence[Suggestion] = ()
        if suggestions:
            found = sorted(
                suggested(
                    session,
                    imported,
                    arguments,
                    metadata,
                    has_code=measure,
                    measure=how,
                    notify=notify,
                ),
                key=lambda each: -(each.saved_bytes(as_it_is) or 0),
            )
    tried = [each.as_json(as_it_is) for each in found] if suggestions else None
    document = explanation_document(metadata, facts, tried, reason, as_it_is.own_figures())
    return Explanation(module, document, as_it_is.result, tuple(found))
