"""The stage that builds `__tvm_main__`, and chooses which copies to elide."""

from __future__ import annotations

from tvm.ir import IRModule
from tvm.target import Target

from usmp.aot.main_candidates import MainCandidates
from usmp.planning.search.stages import CopyStage
from usmp.planning.search.stages.copies import MakeCopies
from usmp.planning.session import planning_session
from usmp.support.tvm_errors import lowering


def copy_stage(target: Target | None = None) -> CopyStage:
    """Return the stage that replaces the Relax `main` by `__tvm_main__`.

    Parameters
    ----------
    target
        target of PrimFuncs that have none; by default they stay without.
    """

    def bound(mod: IRModule) -> IRModule:
        if target is None:
            return mod
        with planning_session() as session:
            return session.bind_targets(mod, target)

    def versions(mod: IRModule) -> MakeCopies:
        with lowering():
            return MainCandidates(mod, bound).make

    return CopyStage(versions, str(target))
