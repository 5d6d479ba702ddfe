"""What a C application sees of a compiled model: tensors, pools, names. Read from the module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm.ir import IRModule

from usmp.codegen.names import replace_forbidden, sanitise_all
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


@dataclass(frozen=True)
class Tensor:
    """A model input or output.

    `place` is its pool and byte offset if it was planned into a workspace pool.
    """

    info: TensorInfo
    c_name: str
    place: PoolAllocation | None


@dataclass(frozen=True)
class Pool:
    """A pool that the generated code uses; an external one is passed by the application."""

    info: AllocatedPoolInfo
    c_name: str

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

    `states` are the buffers whose bytes are kept from one run to the next.
    """

    module_name: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    pools: list[Pool]
    states: Sequence[PlacedBuffer] = ()

    @property
    def prefix(self) -> str:
        """Of every external C symbol."""
        return f"tvmgen_{replace_forbidden(self.module_name)}"

    @property
    def macro_prefix(self) -> str:
        """Of every macro."""
        return self.prefix.upper()

    @property
    def external_pools(self) -> list[Pool]:
        """The pools that the application passes."""
        return [pool for pool in self.pools if not pool.is_internal]

    @property
    def has_workspace_io(self) -> bool:
        """Whether inputs and outputs have their places in the workspace."""
        return any(tensor.place is not None for tensor in (*self.inputs, *self.outputs))

    @property
    def workspace_size_bytes(self) -> int:
        """Bytes of all workspace pools together."""
        return sum(pool.size_bytes for pool in self.pools if not pool.is_constant)

    @property
    def state_size_bytes(self) -> int:
        """Bytes that are kept between runs, in all pools together."""
        return sum(int(state.size_bytes) for state in self.states)

    def states_in(self, pool: Pool) -> list[PlacedBuffer]:
        """The states that a pool holds."""
        name = str(pool.info.pool_info.pool_name)
        return [state for state in self.states if str(state.pool_name) == name]


def interface_of(mod: IRModule, module_name: str) -> Interface:
    """Read the interface of a planned module.

    Raises
    ------
    ValueError: two names become the same C identifier.
    """
    main = mod[MAIN_FUNCTION_NAME]
    places = mod.attrs.get(IO_TENSOR_POOL_ALLOCATIONS_ATTR) or {}

    def tensors(attribute: str, what: str) -> list[Tensor]:
        infos = list(main.attrs[attribute])
        names = sanitise_all([info.name for info in infos], what)
        return [Tensor(i, n, places.get(i.name)) for i, n in zip(infos, names, strict=True)]

    infos = list(mod.attrs[POOL_ARGS_ATTR])
    pool_names = sanitise_all([info.pool_info.pool_name for info in infos], "pool")
    pools = [Pool(info, name) for info, name in zip(infos, pool_names, strict=True)]
    plan = mod.attrs.get(MEMORY_PLAN_ATTR)
    buffers = list(plan.buffers) if plan is not None else []
    return Interface(
        module_name,
        tensors(INPUT_TENSORS_ATTR, "input tensor"),
        tensors(OUTPUT_TENSORS_ATTR, "output tensor"),
        pools,
        [buffer for buffer in buffers if buffer.kind == BufferInfoKind.STATE],
    )
