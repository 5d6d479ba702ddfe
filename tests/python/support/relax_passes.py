"""The passes of a build up to one of them, each stage of the search by its pass."""

from __future__ import annotations

from tvm.ir.transform import Pass, Sequential

from usmp.aot_pipeline import operator_steps
from usmp.current_context import PASSES
from usmp.planning.search import Stage


def passes_until(last: str) -> Sequential:
    """The passes from Relax to operators, up to the one of this name."""
    passes: list[Pass] = []
    for step in operator_steps((), "model"):
        name = step.pass_name if isinstance(step, Stage) else str(step.info.name)
        passes.append(PASSES[name.removeprefix("usmp.")]() if isinstance(step, Stage) else step)
        if name == last:
            return Sequential(passes)
    raise ValueError(last)
