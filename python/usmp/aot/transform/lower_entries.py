"""LowerEntries: each entry of a Relax module becomes an AoT main PrimFunc."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import Pass, PassContext, Sequential

from usmp.aot.join_entries import join_entries
from usmp.aot.transform.lower_main import LowerMain
from usmp.passes import ModulePass, apply_passes
from usmp.planning.session import planning_session
from usmp.relax.entries import relax_entries, split_entries
from usmp.relax.shared_states import share_states
from usmp.support.errors import UnsupportedModelError


def _lower_main(_: str) -> Sequence[Pass]:
    return [LowerMain()]


@tvm.transform.module_pass(opt_level=0, name="usmp.LowerEntries")
class LowerEntries(ModulePass):
    """Lower each entry by itself, as `main` of a module of its own, and join what comes out.

    Entries are the functions that an application calls: those that the module's attribute
    `entries` lists, or else all public Relax functions. Each becomes the PrimFunc
    `__tvm_<entry>__`; equal operators of several entries become one. States of one name are one
    state, which each of them finds as the last one left it; one that no entry changes is a
    constant. The attribute `concurrent_entries` lists those that may run at once.

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

    def transform_module(self, mod: IRModule, _: PassContext) -> IRModule:
        """Lower all entries."""
        names = relax_entries(mod)
        lowered: dict[str, IRModule] = {}
        with planning_session():
            for name, alone in share_states(split_entries(mod, names)).items():
                passes = Sequential(list(self.passes(name)), name=f"usmp.LowerEntries.{name}")
                lowered[name] = _naming_entry(name, passes, alone)
            return join_entries(mod, lowered)


def _naming_entry(name: str, passes: Sequential, mod: IRModule) -> IRModule:
    try:
        return apply_passes(passes, mod)
    except (UnsupportedModelError, ValueError) as error:
        if type(error) not in (UnsupportedModelError, ValueError):
            raise
        raise type(error)(f'entry "{name}": {error}') from error
