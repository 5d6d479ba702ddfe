"""LowerEntries: each entry of a Relax module becomes an AoT main PrimFunc."""

from __future__ import annotations

from collections.abc import Callable

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.aot.entry_streams import Streams, entry_streams
from usmp.aot.join_entries import join_entries
from usmp.aot.transform.lower_main import LowerMain
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR
from usmp.objects.attributes.module_attributes import (
    CONCURRENT_ATTR,
    ENTRIES_ATTR,
    FLOAT_OPERATORS_ATTR,
    INITIAL_STATES_ATTR,
    MAIN_FUNCTION_NAME,
    OTHER_FORMS_ATTR,
    OUTPUT_NAMES_ATTR,
    PRUNED_CHANNELS_ATTR,
    STATES_ATTR,
    STATES_FLAG_ATTR,
    WINDOWS_ATTR,
)
from usmp.objects.attributes.operator_attributes import OPERATORS_ATTR
from usmp.objects.symbolic_size import has_symbolic_sizes, symbolic_sizes
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.passes import ModulePass, apply_passes
from usmp.planning.attribute_access import SEARCHING
from usmp.planning.options import planning_options
from usmp.relax.entries import relax_entries, split_entries
from usmp.relax.shared_states import share_states
from usmp.support.errors import UnsupportedModelError


def _lower_main(_: str, alone: IRModule, __: Streams) -> IRModule:
    return apply_passes(LowerMain(), alone)


@tvm.transform.module_pass(opt_level=0, name="usmp.LowerEntries")
class LowerEntries(ModulePass):
    """Lower each entry as `main` of its own module, and join the results.

    Entries are the functions in the module's attribute `entries`, or else all public Relax
    functions. Each becomes the PrimFunc `__tvm_<entry>__`; equal operators are shared. States of
    equal names are one state, which an entry finds as the previous run of any entry left it. States
    that no entry changes become constants. The attribute `concurrent_entries` lists pairs of
    entries that may run concurrently.

    Parameters
    ----------
    lower
        lowers an entry, by its name, its module with a Relax `main`, and its streamed inputs and
        outputs, to `__tvm_main__`; by default `LowerMain`, which streams none.

    Raises
    ------
    UnsupportedModelError, ValueError
        as `lower` raises them, prefixed by the entry; two entries describe a state differently; a
        listed function is no entry; or an option names a streamed tensor that no entry, or more
        than one, has.
    """

    reads = (
        *(ENTRIES_ATTR, CONCURRENT_ATTR, STATES_ATTR, OTHER_FORMS_ATTR, PRUNED_CHANNELS_ATTR),
        *(FLOAT_OPERATORS_ATTR, CONSTANT_DATA_ATTR, OPERATORS_ATTR, CONTROL_FLOW_ATTR),
        *(OPERATOR_ATTR, OUTPUT_NAMES_ATTR, WINDOWS_ATTR),
    )
    writes = (
        *(ENTRIES_ATTR, STATES_ATTR, INITIAL_STATES_ATTR, STATES_FLAG_ATTR),
        *(FLOAT_OPERATORS_ATTR, PRUNED_CHANNELS_ATTR, OTHER_FORMS_ATTR, WINDOWS_ATTR),
    )
    uses = (SEARCHING,)

    def __init__(self, lower: Callable[[str, IRModule, Streams], IRModule] = _lower_main) -> None:
        self.lower = lower
        self._last: tuple[IRModule, dict[str, IRModule]] | None = None

    def searches(self, mod: IRModule) -> bool:
        """Return True, because each entry is searched for its memory."""
        return True

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Lower all entries."""
        entries = self._entries(mod)
        streams = entry_streams(entries, planning_options(context))
        lowered = {name: self._lowered(name, entries[name], streams[name]) for name in entries}
        return join_entries(mod, lowered)

    def _entries(self, mod: IRModule) -> dict[str, IRModule]:
        """Return the module of each entry. If no function changed, it has the same function objects
        as in the last call, so that caches find them."""
        names = relax_entries(mod)
        if (
            self._last is None
            or list(self._last[1]) != names
            or not _has_same_functions(self._last[0], mod)
        ):
            self._last = mod, share_states(split_entries(mod, names))
        attrs = CONCURRENT_ATTR.removed(ENTRIES_ATTR.removed(mod)).attrs or {}
        return {name: alone.with_attrs(attrs) for name, alone in self._last[1].items()}

    def _lowered(self, name: str, alone: IRModule, streams: Streams) -> IRModule:
        try:
            lowered = self.lower(name, alone, streams)
        except (UnsupportedModelError, ValueError) as error:
            if type(error) not in (UnsupportedModelError, ValueError):
                raise
            raise type(error)(f'entry "{name}": {error}') from error
        if has_symbolic_sizes(lowered):
            sizes = ", ".join(s.name for s in symbolic_sizes(lowered[MAIN_FUNCTION_NAME]))
            raise UnsupportedModelError(
                f'entry "{name}" has sizes that only the run knows, {sizes}; several entries take '
                "fixed shapes: fix the sizes, or compile the entry by itself"
            )
        return lowered


def _has_same_functions(one: IRModule, other: IRModule) -> bool:
    names = {str(variable.name_hint): func for variable, func in one.functions.items()}
    return len(names) == len(other.functions) and all(
        func.same_as(names.get(str(variable.name_hint)))
        for variable, func in other.functions.items()
    )
