"""The passes of a build up to one of them, each stage of the search by its pass."""

from __future__ import annotations

from tvm.ir.transform import Pass, Sequential

from usmp.aot_pipeline import main_steps, module_passes
from usmp.current_context import PASSES
from usmp.objects.target.targets import parse_targets
from usmp.planning.search import Stage


def passes_until(last: str, target: str = "c") -> Sequential:
    """The passes from Relax to operators, up to the one of this name."""
    passes: list[Pass] = module_passes()
    for step in main_steps(parse_targets(target), "model"):
        name = step.pass_name if isinstance(step, Stage) else str(step.info.name)
        passes.append(PASSES[name.removeprefix("usmp.")]() if isinstance(step, Stage) else step)
        if name == last:
            return Sequential(passes)
    raise ValueError(last)
