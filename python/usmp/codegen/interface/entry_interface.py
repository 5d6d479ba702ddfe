"""The C interface of each entry of a compiled model: tensors, pools, devices, sizes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tvm.ir import IRModule
from tvm.tirx import PrimFunc

from usmp.analysis.memory.facts import module_facts
from usmp.codegen.c.names import not_a_macro, sanitise, symbol_prefix
from usmp.codegen.interface.accelerator_functions import device_names
from usmp.codegen.interface.entry_facts import UsedState, used_states
from usmp.codegen.interface.entry_sizes import TAKEN_MACROS, beginning_of_macros, symbolic_extents
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.objects import BufferInfoKind, MemoryPlan, PlacedBuffer, PoolAllocation, TensorInfo
from usmp.objects.attributes.module_attributes import (
    INPUT_TENSORS_ATTR,
    IO_TENSOR_POOL_ALLOCATIONS_ATTR,
    NAMES_018_ATTR,
    OUTPUT_TENSORS_ATTR,
    POOL_ARGS_ATTR,
)
from usmp.objects.attributes.operator_attributes import ACCELERATOR_FUNCTION_ATTR
from usmp.objects.dynamic_allocation import takes_arena
from usmp.objects.entries import concurrent_entries, entries_of, entry_function_name
from usmp.objects.input_window import InputWindow, input_windows
from usmp.objects.streamed_io import streamed_names
from usmp.objects.symbolic_size import symbolic_sizes
from usmp.objects.tensor_info import default_output_names, place_names
from usmp.ops.accelerator_function import AcceleratorFunction
from usmp.plain.c_interface import callback_member, context_member
from usmp.plain.entry_names import ONLY_ENTRY, c_prefix_of_entry
from usmp.plain.entry_size import EntrySize
from usmp.plain.size_expression import SizeExpression, sizes_in


@dataclass(frozen=True)
class IOTensor:
    """A model input or output.

    `allocation` is the pool and byte offset of a tensor that was planned into a workspace pool. A
    tensor that `is_by_rows` is never materialized: the application passes it row by row. An input
    with a `window` holds only the newest rows of the window. If `is_written`, the model may write
    to the memory that the application provides for the tensor.
    """

    info: TensorInfo
    c_name: str
    allocation: PoolAllocation | None
    is_by_rows: bool = False
    window: InputWindow | None = None
    is_written: bool = False

    @property
    def symbolic_extents(self) -> list[SizeExpression]:
        """The extents as expressions of symbolic sizes; empty if none depends on a size."""
        return symbolic_extents(self.info)


@dataclass(frozen=True)
class EntryInterface:
    """A function that an application calls.

    Parameters
    ----------
    name
        name of the entry.
    function
        name of its planned PrimFunc.
    prefix
        prefix of the C symbols of the entry.
    inputs, outputs
        input and output tensors, in order.
    pools, devices
        the pools, and the members of the struct of devices, that the PrimFunc takes, in order.
    preserves_inputs
        whether inputs in the workspace are intact after a run.
    states
        the states that the entry uses, if the module has several entries.
    concurrent_with
        names of the entries that may run at the same time.
    sizes
        the symbolic sizes that a run takes, in the order of the PrimFunc's parameters.
    takes_arena
        whether the entry allocates in an arena.
    """

    name: str
    function: str
    prefix: str
    inputs: list[IOTensor]
    outputs: list[IOTensor]
    pools: list[PoolParameter]
    devices: Sequence[str] = ()
    preserves_inputs: bool = False
    states: Sequence[UsedState] = ()
    concurrent_with: Sequence[str] = ()
    sizes: Sequence[EntrySize] = ()
    takes_arena: bool = False

    @property
    def has_workspace_io(self) -> bool:
        """Whether any input or output is in the workspace."""
        return any(tensor.allocation is not None for tensor in (*self.inputs, *self.outputs))

    @property
    def outside_bytes(self) -> int:
        """Bytes of the inputs and outputs in the application's memory, except unbounded ones."""
        return sum(
            int(tensor.info.size_bytes)
            for tensor in (*self.inputs, *self.outputs)
            if tensor.allocation is None and not tensor.is_by_rows and not self.is_unbounded(tensor)
        )

    def is_unbounded(self, tensor: IOTensor) -> bool:
        """Return whether an input or output depends on a size without an upper bound."""
        unbounded = {size.name for size in self.sizes if size.upper_bound is None}
        return any(unbounded & set(sizes_in(extent)) for extent in tensor.symbolic_extents)

    @property
    def updated(self) -> list[IOTensor]:
        """The inputs that a run updates in place."""
        return [tensor for tensor in self.inputs if tensor.info.is_updated]

    def only_reads(self, tensor: IOTensor) -> bool:
        """Return whether an input may be in read-only memory. A run must not write the input, and
        the application must not write it through the struct of `map_inputs`."""
        return not (self.has_workspace_io or tensor.is_written or tensor.info.is_updated)

    @property
    def results(self) -> list[IOTensor]:
        """The results of a run: the outputs, then the updated inputs."""
        return [*self.outputs, *self.updated]

    @property
    def by_rows(self) -> list[IOTensor]:
        """The inputs, then the outputs, that are passed row by row."""
        return [tensor for tensor in (*self.inputs, *self.outputs) if tensor.is_by_rows]

    @property
    def tensor_structs(self) -> list[str]:
        """The names of the structs that a run takes, from "inputs" and "outputs". If tensors are in
        the workspace, a run takes only structs with callbacks or sizes."""
        both = (("inputs", self.inputs), ("outputs", self.outputs))
        if not self.has_workspace_io:
            return [struct for struct, _ in both]
        with_sizes = ["inputs"] if self.sizes else []
        return [s for s, tensors in both if s in with_sizes or any(t.is_by_rows for t in tensors)]


def _stated_io(name: str, main: PrimFunc) -> tuple[Sequence[TensorInfo], Sequence[TensorInfo]]:
    """Return the inputs and outputs that the attributes of an entry state, or raise ValueError."""
    inputs, outputs = INPUT_TENSORS_ATTR.of(main), OUTPUT_TENSORS_ATTR.of(main)
    if inputs is None or outputs is None:
        raise ValueError(
            f"{name} has no attributes {INPUT_TENSORS_ATTR} and "
            f"{OUTPUT_TENSORS_ATTR}, of which the C has the names; set each to a list of "
            "usmp.objects.TensorInfo, in the order of the parameters"
        )
    return inputs, outputs


def read_entries(
    mod: IRModule,
    module_name: str,
    pools: Sequence[PoolParameter],
    plan: MemoryPlan | None,
    functions: Sequence[AcceleratorFunction],
) -> list[EntryInterface]:
    """Return the entries of a planned module without their symbolic sizes.

    Parameters
    ----------
    mod
        the planned module.
    module_name
        the module's name in C.
    pools
        all pools of the module.
    plan
        the memory plan of the module.
    functions
        the accelerator functions that the module calls.
    """
    names = entries_of(mod)
    mains = {name: mod[name] for name in map(entry_function_name, names)}
    tensors = [_stated_io(name, main) for name, main in mains.items()]
    has_only_main = names == [ONLY_ENTRY]
    by_rows = {name: streamed_names(mod[entry_function_name(name)]) for name in names}
    reserved = [pool.macro_name for pool in pools]
    reserved += TAKEN_MACROS if any(map(symbolic_sizes, mains.values())) else ()
    c_names = member_names(
        {("" if has_only_main else n): both for n, both in zip(names, tensors, strict=True)},
        reserved,
        {("" if has_only_main else n): both for n, both in by_rows.items()},
        ["" if has_only_main else name for name in NAMES_018_ATTR.of(mod) or ()],
    )
    entries = [
        EntryInterface(
            name,
            entry_function_name(name),
            c_prefix_of_entry(symbol_prefix(module_name), name, names),
            *_io_tensors(mod, name, *both, members),
            _pools_of(mod, entry_function_name(name), pools),
            device_names(functions),
            takes_arena=takes_arena(mod[entry_function_name(name)]),
        )
        for name, both, members in zip(names, tensors, c_names, strict=True)
    ]
    buffers = list(plan.buffers) if plan is not None else []
    if len(entries) == 1:
        is_preserved = plan is not None and _preserves_inputs(buffers)
        return [replace(entries[0], preserves_inputs=is_preserved)]
    facts, concurrent = module_facts(mod), concurrent_entries(mod)
    states = [buffer for buffer in buffers if buffer.kind == BufferInfoKind.STATE]
    return [
        replace(
            entry,
            devices=_devices_of(mod, facts.graph.callees_first(entry.function)),
            states=used_states(facts, entry.function, states),
            concurrent_with=[n for n in names if frozenset((n, entry.name)) in concurrent],
        )
        for entry in entries
    ]


def _io_tensors(
    mod: IRModule,
    entry: str,
    inputs: Sequence[TensorInfo],
    outputs: Sequence[TensorInfo],
    members: Sequence[str],
) -> tuple[list[IOTensor], list[IOTensor]]:
    """Return the inputs and the outputs of an entry, with their allocations."""
    has_places = mod if entries_of(mod) == [ONLY_ENTRY] else mod[entry_function_name(entry)]
    places = IO_TENSOR_POOL_ALLOCATIONS_ATTR.of(has_places) or {}
    by_rows = streamed_names(mod[entry_function_name(entry)])
    are_by_rows = [
        str(info.name) in names
        for infos, names in zip((inputs, outputs), by_rows, strict=True)
        for info in infos
    ]
    # With tensors in the workspace, the index of a parameter is not that of its tensor.
    main = module_facts(mod).of(entry_function_name(entry))
    written = set() if places else main.written_parameters
    windows, owner = input_windows(mod), "" if has_places is mod else f"{entry}."
    newest = [*(windows.get(f"{owner}{info.name}") for info in inputs), *(None for _ in outputs)]
    tensors = [
        IOTensor(info, c_name, places.get(name), is_by_rows, window, is_written)
        for info, c_name, name, is_by_rows, window, is_written in zip(
            [*inputs, *outputs],
            members,
            place_names(inputs, outputs),
            are_by_rows,
            newest,
            [index in written for index in range(len(members))],
            strict=True,
        )
    ]
    return tensors[: len(inputs)], tensors[len(inputs) :]


def _pools_of(mod: IRModule, function: str, pools: Sequence[PoolParameter]) -> list[PoolParameter]:
    """Return the pools that a PrimFunc takes, in the order of its parameters."""
    by_name = {pool.name: pool for pool in pools}
    return [by_name[str(arg.pool_info.pool_name)] for arg in POOL_ARGS_ATTR.required(mod[function])]


def _devices_of(mod: IRModule, called: Iterable[str]) -> list[str]:
    """Return the C names of the handles of the accelerators that PrimFuncs call."""
    functions = (ACCELERATOR_FUNCTION_ATTR.of(mod[name]) for name in called)
    return device_names([function for function in functions if function is not None])


def member_names(
    entries: Mapping[str, tuple[Sequence[TensorInfo], Sequence[TensorInfo]]],
    pool_macros: Iterable[str] = (),
    by_rows: Mapping[str, tuple[Collection[str], Collection[str]]] | None = None,
    names_018: Collection[str] = (),
) -> list[list[str]]:
    """Return the C names of the inputs and outputs of each entry, inputs first.

    They are members of two structs, and macro names begin with them in capitals. So tensors of
    different sizes need names that differ even in capitals, and that differ from the names of the
    workspace and its pools. Tensors of two entries with different quantization need them too,
    because `b_x` of entry `a` and `x` of entry `a_b` would have equal macro names.

    Parameters
    ----------
    entries
        name of the entry, or empty if macros do not contain it -> inputs and outputs.
    pool_macros
        names of the pools in macros.
    by_rows
        for some entries, the names of the inputs and of the outputs that have callbacks.
    names_018
        the entries whose outputs have the names that TVM 0.18 gave, instead of the model's names.
    """
    holders: dict[str, tuple[str, TensorInfo | None]] = {
        name: ("", None) for name in ["WORKSPACE", *pool_macros]
    }

    def is_free(macro: str, entry: str, info: TensorInfo) -> bool:
        holder, other = holders.get(macro, (entry, info))
        if other is None or other.size_bytes != info.size_bytes:
            return False
        quantizations = [(tensor.scale, tensor.zero_point) for tensor in (other, info)]
        return holder == entry or quantizations[0] == quantizations[1]

    names: list[list[str]] = []
    for entry, both in entries.items():
        names.append([])
        wanted = [[str(info.name) for info in infos] for infos in both]
        if entry in names_018:
            wanted[1] = default_output_names(len(both[1]))
        callbacks = (by_rows or {}).get(entry, ((), ()))
        for infos, asked, with_callbacks in zip(both, wanted, callbacks, strict=True):
            members: set[str] = set()
            for info, asked_name in zip(infos, asked, strict=True):
                has_callback = str(info.name) in with_callbacks
                name, number = sanitise(asked_name), 0
                while not members.isdisjoint(_members(name, has_callback)) or not is_free(
                    beginning_of_macros(entry, name), entry, info
                ):
                    number += 1
                    name = not_a_macro(f"{sanitise(asked_name)}_{number}")
                holders.setdefault(beginning_of_macros(entry, name), (entry, info))
                members |= _members(name, has_callback)
                names[-1].append(name)
    return names


def _members(c_name: str, has_callback: bool) -> set[str]:
    """Return all members that a tensor may have in its struct."""
    if not has_callback:
        return {c_name}
    callbacks = {callback_member(struct, c_name) for struct in ("inputs", "outputs")}
    return {c_name, context_member(c_name), *callbacks}


def _preserves_inputs(buffers: Sequence[PlacedBuffer]) -> bool:
    """Return whether each input in the workspace is intact until the end of the run."""
    end = max((live.stop for buffer in buffers for live in buffer.live_ranges), default=0)
    overwritten = {str(name) for buffer in buffers for name in buffer.overlaps}
    return all(
        max(live.stop for live in buffer.live_ranges) == end and str(buffer.name) not in overwritten
        for buffer in buffers
        if buffer.kind == BufferInfoKind.INPUT
    )
