"""Public models of ../shared, imported and built once for all tests of a process."""

from __future__ import annotations

from contextvars import Context, copy_context
from functools import cache
from pathlib import Path

from tvm.ir import IRModule

import usmp
from support.planner_contexts import planner_context
from usmp.analysis.memory.facts import _SHARED, FactStore
from usmp.planning.session import _SESSION, PlanningSession


@cache
def imported(path: Path) -> IRModule:
    return usmp.import_model(path)


@cache
def build(path: Path, target: str = "c", **options: object) -> usmp.AOTExecutorFactoryModule:
    """Build it with options `tir.usmp.<name>`. All builds of a model are in one session: what does
    not depend on these options is found once."""
    return _in_session(path).run(_build, path, target, options)


@cache
def _in_session(path: Path) -> Context:
    """Where a session is open that lasts as long as the process."""
    context = copy_context()
    context.run(_SESSION.set, PlanningSession())
    context.run(_SHARED.set, FactStore())
    return context


def _build(path: Path, target: str, options: dict[str, object]) -> usmp.AOTExecutorFactoryModule:
    with planner_context(options):
        return usmp.build(imported(path), target)
