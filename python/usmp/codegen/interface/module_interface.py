"""The C interface of a compiled model, read from the module: entries, pools, states, names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

from tvm.ir import IRModule

from usmp.analysis.checks.plan_checker import check_places
from usmp.analysis.memory.facts import shared_facts
from usmp.codegen.c.names import sanitise_all, symbol_prefix
from usmp.codegen.c.text import quoted
from usmp.codegen.interface.accelerator_functions import accelerator_functions, device_names
from usmp.codegen.interface.emitted_calls import EmittedCall, emitted_calls
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor, read_entries
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.codegen.interface.read_sizes import with_sizes
from usmp.codegen.interface.workspace_sizes import WorkspaceSize, workspace_sizes
from usmp.objects import AllocatedPoolInfo, BufferInfoKind, PlacedBuffer
from usmp.objects.arguments.executor import DEFAULT_BYTE_ALIGNMENT, check_workspace_io, executor_of
from usmp.objects.attributes.module_attributes import (
    MEMORY_PLAN_ATTR,
    OPERATOR_HOOKS_ATTR,
    POOL_ARGS_ATTR,
)
from usmp.objects.dynamic_allocation import dynamic_allocator
from usmp.objects.entries import check_entries, entries_of
from usmp.objects.module_pools import named_pools
from usmp.objects.state_layout import state_layout_of
from usmp.ops.accelerator_function import AcceleratorFunction
from usmp.plain.entry_names import ONLY_ENTRY, check_only_entry
from usmp.plain.state_layout import StateLayout
from usmp.planning.state_pool import state_pool_of

_CONTENTLESS = (".bss", ".sbss", ".tbss", ".noinit")
"""Sections without content in the object file."""
_READ_ONLY = (".rodata", ".text")


@dataclass(frozen=True)
class Interface:
    """The facts about a model in its header, sources and metadata.

    `entries` are the functions that an application calls; they share pools, states and devices.
    `states` are the buffers that keep their content between runs; `state_layout` has their places.
    `is_packed` tells whether TVM's packed functions call the model, instead of C. The application
    defines `accelerator_functions`. It may define `operator_hooks`, which are called before and
    after each of the `operators`. `workspace_sizes` are the bytes that pools need if offsets depend
    on the sizes of a run. `dynamic_allocator` allocates memory of dynamic size, if there is any.
    """

    module_name: str
    entries: list[EntryInterface]
    pools: list[PoolParameter]
    states: Sequence[PlacedBuffer] = ()
    is_packed: bool = False
    accelerator_functions: Sequence[AcceleratorFunction] = ()
    state_layout: StateLayout | None = None
    operator_hooks: Sequence[str] = ()
    operators: Sequence[EmittedCall] = ()
    dynamic_allocator: str = ""
    workspace_sizes: Sequence[WorkspaceSize] = ()

    @property
    def has_only_main(self) -> bool:
        """Whether the only entry is "main", so that names in C do not contain names of entries."""
        return [entry.name for entry in self.entries] == [ONLY_ENTRY]

    @property
    def only_entry(self) -> EntryInterface:
        """The entry of a model that has one.

        Raises
        ------
        ValueError
            there are several entries.
        """
        check_only_entry(self.module_name, [entry.name for entry in self.entries])
        return self.entries[0]

    @property
    def inputs(self) -> list[IOTensor]:
        """The inputs of the only entry; `ValueError` if there are several."""
        return self.only_entry.inputs

    @property
    def outputs(self) -> list[IOTensor]:
        """The outputs of the only entry; `ValueError` if there are several."""
        return self.only_entry.outputs

    def described(self, entry: EntryInterface) -> str:
        """Return the text for an entry in comments; the module's text if it has only "main"."""
        module = f"TVM module {quoted(self.module_name)}"
        return module if self.has_only_main else f"entry {quoted(entry.name)} of {module}"

    @property
    def devices(self) -> list[str]:
        """The members of the struct of devices: the accelerators with functions."""
        return device_names(self.accelerator_functions)

    def failing_accelerators(self, entry: EntryInterface) -> list[str]:
        """Return the names of the accelerators with a function that may end a run of an entry."""
        own = [operator for operator in self.operators if operator.entry == entry.name]
        functions = [function for operator in own for function in operator.accelerator_functions]
        return sorted({str(function.accelerator) for function in functions if function.can_fail})

    @property
    def takes_arena(self) -> bool:
        """Whether an entry allocates in an arena."""
        return any(entry.takes_arena for entry in self.entries)

    @property
    def prefix(self) -> str:
        """The prefix of every external C symbol."""
        return symbol_prefix(self.module_name)

    @property
    def macro_prefix(self) -> str:
        """The prefix of every macro."""
        return self.prefix.upper()

    @property
    def external_pools(self) -> list[PoolParameter]:
        """The pools that the application passes."""
        return [pool for pool in self.pools if not pool.is_internal]

    @property
    def workspace_size_bytes(self) -> int:
        """Total bytes of all workspace pools."""
        return sum(pool.size_bytes for pool in self.pools if not pool.is_constant)

    @property
    def state_size_bytes(self) -> int:
        """Total bytes of the states in all pools."""
        return sum(int(state.size_bytes) for state in self.states)

    def states_in(self, pool: PoolParameter) -> list[PlacedBuffer]:
        """Return the states in a pool."""
        return [state for state in self.states if str(state.pool_name) == pool.name]


@shared_facts()
def interface_of(mod: IRModule, module_name: str) -> Interface:
    """Read the interface of a planned module.

    Raises
    ------
    ValueError
        two pools have the same C identifier or share bytes, a pool cannot be at its place or in its
        section, an entry has a name or symbolic sizes that are not valid in C, or inputs and
        outputs are in the workspace of a model with a packed interface.
    """
    executor = executor_of(mod)
    check_entries(entries_of(mod))
    pools = _pools(mod)
    plan = MEMORY_PLAN_ATTR.of(mod)
    functions = accelerator_functions(mod)
    entries = with_sizes(mod, read_entries(mod, module_name, pools, plan, functions), executor)
    check_workspace_io(executor, any(entry.has_workspace_io for entry in entries))
    buffers = plan.buffers if plan is not None else []
    states = [buffer for buffer in buffers if buffer.kind == BufferInfoKind.STATE]
    check_places([(p.info, p.first_byte) for p in pools if not p.is_empty], buffers)
    check_addresses(pools)
    check_sections(pools, {str(state.pool_name) for state in states} - _own_pool_of_states(mod))
    return Interface(
        module_name,
        entries,
        pools,
        states,
        executor.is_packed,
        functions,
        state_layout_of(mod, module_name),
        list(OPERATOR_HOOKS_ATTR.of(mod) or ()),
        emitted_calls(mod),
        dynamic_allocator(mod),
        workspace_sizes(mod),
    )


def _pools(mod: IRModule) -> list[PoolParameter]:
    """Return the pools that the plan uses and the pools that the user named, sorted by name.

    A named pool is part of the interface even if the plan does not use it, so that applications do
    not depend on which pools a model needs.
    """
    used = list(POOL_ARGS_ATTR.required(mod))
    names = {str(info.pool_info.pool_name) for info in used}
    empty = [
        AllocatedPoolInfo(pool, 0, len(used) + number, DEFAULT_BYTE_ALIGNMENT)
        for number, pool in enumerate(p for p in named_pools(mod) if str(p.pool_name) not in names)
    ]
    infos = sorted([*used, *empty], key=lambda info: str(info.pool_info.pool_name))
    c_names = sanitise_all([str(info.pool_info.pool_name) for info in infos], "pool")
    return [
        PoolParameter(info, c_name, str(info.pool_info.pool_name) not in names)
        for info, c_name in zip(infos, c_names, strict=True)
    ]


def _own_pool_of_states(mod: IRModule) -> set[str]:
    """Return the name of the user's pool for states, if there is one. Its content may survive a
    restart, because start-up code does not zero it: a check calls `reset` only if the content is
    not valid."""
    pool = state_pool_of(mod)
    return set() if pool is None else {str(pool.pool_name)}


def check_addresses(pools: Sequence[PoolParameter]) -> None:
    """Check that pools at known addresses do not share bytes.

    Raises
    ------
    ValueError
        two pools share a byte; the message has their names and addresses.
    """
    known = [(pool.first_address, pool) for pool in pools if not pool.is_empty and pool.size_bytes]
    placed = sorted(((a, p) for a, p in known if a is not None), key=itemgetter(0))
    for (start, pool), (after, other) in pairwise(placed):
        if start + pool.size_bytes > after:
            raise ValueError(
                f'pools "{pool.name}" (0x{start:x} to 0x{start + pool.size_bytes - 1:x}) and '
                f'"{other.name}" (from 0x{after:x}) share bytes; give them other addresses, or the '
                "first one a smaller size"
            )


def check_sections(pools: Sequence[PoolParameter], with_state: Collection[str] = ()) -> None:
    """Check that each pool can be in the section that the user named.

    Parameters
    ----------
    pools
        all pools.
    with_state
        names of the pools with states that start-up code must zero before the first run.

    Raises
    ------
    ValueError
        a section holds both constant and workspace pools, constants are in a section without
        content (".bss"), a workspace is in a read-only section, or an internal pool with states is
        in a section that is not zeroed at start-up (".bss.noinit").
    """
    holders: dict[str, PoolParameter] = {}
    for pool in pools:
        section, what = pool.section_name, f'{pool.kind} pool "{pool.name}"'
        if not section:
            continue
        other = holders.setdefault(section, pool)
        if other.is_constant != pool.is_constant:
            raise ValueError(
                f'section "{section}" cannot hold both {other.kind} pool "{other.name}" and {what}:'
                " one is constant, the other written; give one of them another section_name"
            )
        refused = _CONTENTLESS if pool.is_constant else _READ_ONLY
        if _begins_with(section, refused):
            why = "has no content" if pool.is_constant else "is read-only"
            raise ValueError(
                f'{what} cannot be in section "{section}", which {why}; '
                "give the pool another section_name"
            )
        if pool.is_internal and pool.name in with_state and "noinit" in section:
            raise ValueError(
                f'{what} keeps state between runs, which begins as zeros, but section "{section}" '
                "is not zeroed at start-up; give the pool another section_name, or the states a "
                "pool of their own (--state-pool, state_memory_pool) with a start-up check"
            )


def _begins_with(section: str, names: Sequence[str]) -> bool:
    """Return whether a section is one of `names` or a part of one, as ".bss.dtcm" of ".bss"."""
    return any(section == name or section.startswith(f"{name}.") for name in names)
