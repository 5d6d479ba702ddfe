"""What a C application sees of a compiled model: tensors, pools, names. Read from the module."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tvm.ir import IRModule

from usmp.codegen.accelerator_functions import accelerator_functions, device_names
from usmp.codegen.names import sanitise, sanitise_all, symbol_prefix
from usmp.objects import (
    AllocatedPoolInfo,
    BufferInfoKind,
    ConstantPoolInfo,
    PlacedBuffer,
    PoolAllocation,
    TensorInfo,
)
from usmp.objects.attributes import (
    INPUT_TENSORS_ATTR,
    IO_TENSOR_POOL_ALLOCATIONS_ATTR,
    MAIN_FUNCTION_NAME,
    MEMORY_PLAN_ATTR,
    OUTPUT_TENSORS_ATTR,
    POOL_ARGS_ATTR,
)
from usmp.objects.executor import check_workspace_io, executor_of
from usmp.objects.tensor_info import place_names
from usmp.ops.accelerator_function import AcceleratorFunction
from usmp.planning.state_pool import state_pool_of

_CONTENTLESS = (".bss", ".sbss", ".tbss", ".noinit")
"""Sections that have no content in the object file."""
_READ_ONLY = (".rodata", ".text")


@dataclass(frozen=True)
class IOTensor:
    """A model input or output.

    `allocation` is its pool and byte offset if it was planned into a workspace pool.
    """

    info: TensorInfo
    c_name: str
    allocation: PoolAllocation | None


@dataclass(frozen=True)
class PoolParameter:
    """A pool that the generated code uses; an external one is passed by the application."""

    info: AllocatedPoolInfo
    c_name: str

    @property
    def name(self) -> str:
        """The user's name of the pool."""
        return str(self.info.pool_info.pool_name)

    @property
    def kind(self) -> str:
        """What it holds, in a word: "constant" or "workspace"."""
        return "constant" if self.is_constant else "workspace"

    @property
    def macro_name(self) -> str:
        """The part between the module's prefix and the meaning in the names of its macros."""
        return f"{self.c_name}_{self.kind}_pool".upper()

    @property
    def section_name(self) -> str:
        """The section of the object file that holds it; empty if the user named none."""
        return str(self.info.pool_info.section_name)

    @property
    def size_hint_bytes(self) -> int | None:
        """Bytes that the user gave the pool, if any were given."""
        hint = int(self.info.pool_info.size_hint_bytes)
        return hint if hint >= 0 else None

    @property
    def is_constant(self) -> bool:
        """Whether the pool holds constants."""
        return isinstance(self.info.pool_info, ConstantPoolInfo)

    @property
    def is_internal(self) -> bool:
        """Whether the pool is part of the generated code."""
        return bool(self.info.pool_info.is_internal)

    @property
    def alignment_bytes(self) -> int:
        """Bytes of which its address must be a multiple."""
        return int(self.info.alignment)

    @property
    def size_bytes(self) -> int:
        """Bytes that the plan takes of the pool."""
        return int(self.info.allocated_size)


@dataclass(frozen=True)
class Interface:
    """Everything that header, sources and metadata say about a model.

    `states` are the buffers whose bytes are kept from one run to the next; `is_packed` says that
    the model is called through TVM's packed functions, not from C; `accelerator_functions` are what
    the application defines; `preserves_inputs` says that a run leaves inputs as they were.
    """

    module_name: str
    inputs: list[IOTensor]
    outputs: list[IOTensor]
    pools: list[PoolParameter]
    states: Sequence[PlacedBuffer] = ()
    is_packed: bool = False
    accelerator_functions: Sequence[AcceleratorFunction] = ()
    preserves_inputs: bool = False

    @property
    def devices(self) -> list[str]:
        """The members of the struct of devices: the accelerators that have functions."""
        return device_names(self.accelerator_functions)

    @property
    def prefix(self) -> str:
        """Of every external C symbol."""
        return symbol_prefix(self.module_name)

    @property
    def macro_prefix(self) -> str:
        """Of every macro."""
        return self.prefix.upper()

    @property
    def external_pools(self) -> list[PoolParameter]:
        """The pools that the application passes."""
        return [pool for pool in self.pools if not pool.is_internal]

    @property
    def has_workspace_io(self) -> bool:
        """Whether inputs and outputs are in the workspace."""
        return any(tensor.allocation is not None for tensor in (*self.inputs, *self.outputs))

    @property
    def workspace_size_bytes(self) -> int:
        """Bytes of all workspace pools together."""
        return sum(pool.size_bytes for pool in self.pools if not pool.is_constant)

    @property
    def state_size_bytes(self) -> int:
        """Bytes that are kept between runs, in all pools together."""
        return sum(int(state.size_bytes) for state in self.states)

    def states_in(self, pool: PoolParameter) -> list[PlacedBuffer]:
        """The states that a pool holds."""
        return [state for state in self.states if str(state.pool_name) == pool.name]


def interface_of(mod: IRModule, module_name: str) -> Interface:
    """Read the interface of a planned module.

    Raises
    ------
    ValueError
        two pools have the same C identifier, a pool cannot be in its section, or inputs
        and outputs live in the workspace of a model with a packed interface.
    """
    main, executor = mod[MAIN_FUNCTION_NAME], executor_of(mod)
    allocations = mod.attrs.get(IO_TENSOR_POOL_ALLOCATIONS_ATTR) or {}

    check_workspace_io(executor, bool(allocations))
    infos = list(mod.attrs[POOL_ARGS_ATTR])
    pool_names = sanitise_all([info.pool_info.pool_name for info in infos], "pool")
    pools = [PoolParameter(info, name) for info, name in zip(infos, pool_names, strict=True)]
    inputs, outputs = list(main.attrs[INPUT_TENSORS_ATTR]), list(main.attrs[OUTPUT_TENSORS_ATTR])
    c_names = member_names(inputs, outputs, pools)
    tensors = [
        IOTensor(info, c_name, allocations.get(name))
        for info, c_name, name in zip(
            [*inputs, *outputs], c_names, place_names(inputs, outputs), strict=True
        )
    ]
    plan = mod.attrs.get(MEMORY_PLAN_ATTR)
    buffers = list(plan.buffers) if plan is not None else []
    states = [buffer for buffer in buffers if buffer.kind == BufferInfoKind.STATE]
    check_sections(pools, {str(state.pool_name) for state in states} - _own_pool_of_states(mod))
    return Interface(
        module_name,
        tensors[: len(inputs)],
        tensors[len(inputs) :],
        pools,
        states,
        executor.is_packed,
        accelerator_functions(mod),
        plan is not None and _preserves_inputs(buffers),
    )


def _own_pool_of_states(mod: IRModule) -> set[str]:
    """The name of the pool that the user set apart for states: its content may last longer than the
    program runs, and a start-up check with `reset` stands in for zeros."""
    pool = state_pool_of(mod)
    return set() if pool is None else {str(pool.pool_name)}


def member_names(
    inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo], pools: Sequence[PoolParameter]
) -> list[str]:
    """The C names of inputs and outputs, of inputs first.

    They are members of two structs, and begin the names of macros: tensors of different sizes need
    names that differ in capital letters too, and from those of the workspace and its pools.
    """
    sizes = dict.fromkeys(["WORKSPACE", *(pool.macro_name for pool in pools)], -1)
    names: list[str] = []
    for infos in (inputs, outputs):
        members: set[str] = set()
        for info in infos:
            name, number = sanitise(info.name), 0
            while name in members or sizes.get(name.upper(), info.size_bytes) != info.size_bytes:
                number += 1
                name = f"{sanitise(info.name)}_{number}"
            sizes[name.upper()] = info.size_bytes
            members.add(name)
            names.append(name)
    return names


def _preserves_inputs(buffers: Sequence[PlacedBuffer]) -> bool:
    """Whether no input in the workspace dies before the run ends, or while it is overwritten."""
    end = max((live.stop for buffer in buffers for live in buffer.live_ranges), default=0)
    overwritten = {str(name) for buffer in buffers for name in buffer.overlaps}
    return all(
        max(live.stop for live in buffer.live_ranges) == end and str(buffer.name) not in overwritten
        for buffer in buffers
        if buffer.kind == BufferInfoKind.INPUT
    )


def check_sections(pools: Sequence[PoolParameter], with_state: Collection[str] = ()) -> None:
    """Refuse sections that cannot hold what is put there.

    Parameters
    ----------
    pools
        all pools.
    with_state
        names of those whose first run must find zeros in them, though nothing but start-up
        code writes them.

    Raises
    ------
    ValueError
        a constant pool and a workspace pool in one section, constants in a section
        without content (".bss"), a workspace in one that is read-only, or an internal one with
        state in one that is not zeroed at start-up (".bss.noinit").
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
    """Whether a section is one of these, or a part of it, as ".bss.dtcm" is of ".bss"."""
    return any(section == name or section.startswith(f"{name}.") for name in names)
