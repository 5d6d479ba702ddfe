"""LowerEntries: each entry of a Relax module becomes an AoT main PrimFunc."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import Pass, PassContext, Sequential

from usmp.aot.join_entries import join_entries
from usmp.aot.transform.lower_main import LowerMain
from usmp.names import COPIES, GROUPS
from usmp.objects.attributes import (
    ALL_FUSED,
    EXTENDS_STATES_ATTR,
    FUSION_ATTR,
    MAIN_FUNCTION_NAME,
    STATE_BYTES_ATTR,
)
from usmp.objects.symbolic_size import has_symbolic_sizes, symbolic_sizes
from usmp.passes import ModulePass, apply_passes
from usmp.planning.options import PlanningOptions, planning_options
from usmp.planning.session import PlanningSession, planning_session
from usmp.planning.streaming.lower_bound import with_needs_of_forms
from usmp.relax.entries import relax_entries, split_entries
from usmp.relax.shared_states import share_states
from usmp.support.errors import UnsupportedModelError
from usmp.tir.nodes import nodes_of


def _lower_main(_: str) -> Sequence[Pass]:
    return [LowerMain()]


@tvm.transform.module_pass(opt_level=0, name="usmp.LowerEntries")
class LowerEntries(ModulePass):
    """Lower each entry by itself, as `main` of a module of its own, and join what comes out.

    Entries are the functions that an application calls: those that the module's attribute
    `entries` lists, or else all public Relax functions. Each becomes the PrimFunc
    `__tvm_<entry>__`; equal operators of several entries become one. States of one name are one
    state, which each of them finds as the last one left it; one that no entry changes is a
    constant. The attribute `concurrent_entries` lists those that may run at once. Concats lie
    behind the states that they extend (see `LowerMain`) if the plan of all entries is no larger so,
    and groups of operators are split (see `FuseRecordedOperators`) if it is smaller so.

    Parameters
    ----------
    passes
        the name of an entry -> the passes from a Relax `main` to `__tvm_main__`; by default
        `LowerMain` alone.

    Raises
    ------
    UnsupportedModelError, ValueError
        as the passes raise them, the entry named in front; a state that two entries describe in
        two ways; what is no entry.
    """

    def __init__(self, passes: Callable[[str], Sequence[Pass]] = _lower_main) -> None:
        self.passes = passes

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Lower all entries."""
        entries = share_states(split_entries(mod, relax_entries(mod)))
        options = planning_options(context.config)
        with planning_session(options.deadline()) as session:
            lowered = {name: self._lowered(name, alone) for name, alone in entries.items()}
            if len(entries) == 1:
                return join_entries(mod, lowered)
            # What is split saves bytes of its own entry, where another one may need more anyway.
            whole = _told(entries, lowered, _splits_groups, FUSION_ATTR, ALL_FUSED)
            if whole and session.has_time(GROUPS):
                fused = lowered | {name: self._lowered(name, whole[name]) for name in whole}
                choices = [join_entries(mod, fused), join_entries(mod, lowered)]
                best = session.best(choices, options, GROUPS)
                if best == 0:
                    entries, lowered = entries | whole, fused
                if not _has_plan(session, choices[best], options):
                    mod = with_needs_of_forms(session, mod, choices, options)
            joined = join_entries(mod, lowered)
            # What lies behind states saves bytes of its own entry, but may divide memory that
            # another one has large buffers for.
            apart = _told(entries, lowered, _extends_states, EXTENDS_STATES_ATTR, False)
            if not apart or not session.has_time(COPIES):
                return joined
            plain = lowered | {name: self._lowered(name, apart[name]) for name in apart}
            choices = [joined, join_entries(mod, plain)]
            taken = choices[session.best(choices, options, COPIES)]
            if _has_plan(session, taken, options):
                return taken
            return with_needs_of_forms(session, taken, choices, options)

    def _lowered(self, name: str, alone: IRModule) -> IRModule:
        passes = Sequential(list(self.passes(name)), name=f"usmp.LowerEntries.{name}")
        lowered = _naming_entry(name, passes, alone)
        if has_symbolic_sizes(lowered):
            sizes = ", ".join(s.name for s in symbolic_sizes(lowered[MAIN_FUNCTION_NAME]))
            raise UnsupportedModelError(
                f'entry "{name}" has sizes that only the run knows, {sizes}; several entries take '
                "fixed shapes: fix the sizes, or compile the entry by itself"
            )
        return lowered


def _has_plan(session: PlanningSession, best: IRModule, options: PlanningOptions) -> bool:
    """Return whether the best of some modules has a plan, or may have one: without time it is not
    planned."""
    return bool(session.not_compared) or session.peaks(best, options) is not None


def _told(
    entries: Mapping[str, IRModule],
    lowered: Mapping[str, IRModule],
    concerns: Callable[[IRModule], bool],
    attribute: str,
    value: Any,
) -> dict[str, IRModule]:
    """With an attribute, the entries that could be lowered in another way by it."""
    return {
        name: alone.with_attr(attribute, value)
        for name, alone in entries.items()
        if concerns(lowered[name])
    }


def _splits_groups(mod: IRModule) -> bool:
    """Whether operators that could be fused are not."""
    return bool((mod.attrs or {}).get(FUSION_ATTR, ALL_FUSED)["split"])


def _extends_states(mod: IRModule) -> bool:
    """Whether a state is the start of a larger buffer."""
    return any(
        STATE_BYTES_ATTR in stmt.annotations
        for stmt in nodes_of(mod[MAIN_FUNCTION_NAME].body, tirx.AllocBuffer)
    )


def _naming_entry(name: str, passes: Sequential, mod: IRModule) -> IRModule:
    try:
        return apply_passes(passes, mod)
    except (UnsupportedModelError, ValueError) as error:
        if type(error) not in (UnsupportedModelError, ValueError):
            raise
        raise type(error)(f'entry "{name}": {error}') from error
