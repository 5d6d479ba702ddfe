"""The tensors of a graph as ExecuTorch describes them: checked, and one description a tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from usmp_solver.integrations.executorch.interface import ViewSpec, get_node_tensor_specs

Spec: TypeAlias = Any
"""A `TensorSpec` of ExecuTorch, which is equal to itself only."""

DEFAULT_MEMORY = 1
"""The memory of tensors that name none; 0 is that of constants."""
_MOST_MEMORIES = 1 << 16


def base_of(spec: Spec) -> Spec:
    """The tensor whose place a view has; other tensors have their own."""
    while isinstance(spec, ViewSpec):
        spec = spec._base
    return spec


def storage_of(node: Any) -> list[Spec]:
    """The tensors whose places a node's values have."""
    return [base_of(spec) for spec in get_node_tensor_specs(node)]


def memory_of(spec: Spec) -> int:
    """The number of the memory that holds the tensor."""
    return DEFAULT_MEMORY if spec.mem_id is None else int(spec.mem_id)


def describe(spec: Spec) -> str:
    """The tensor, for messages: ExecuTorch's descriptions of tensors have no names."""
    return f"tensor of {spec.dtype} {list(spec.shape)} (lifetime {spec.lifetime})"


def prepare(alignment: int, specs: Iterable[Spec]) -> list[Spec]:
    """The tensors to place, each once, with sizes that are multiples of the alignment.

    Raises
    ------
    ValueError
        The alignment is no power of two, or a tensor contradicts itself or another one.
    """
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"the alignment has to be a power of two, in bytes, not {alignment!r}")
    tensors = list(dict.fromkeys(map(base_of, specs)))
    for spec in tensors:
        spec.realign(alignment)
        _check_lifetime(spec)
        _check_memory(spec)
    known = set(tensors)
    for spec in tensors:
        if spec.storage_base is not None:
            _check_storage(spec, known, alignment)
    return tensors


def _check_lifetime(spec: Spec) -> None:
    first, last = spec.lifetime
    if first is None or last is None:
        raise ValueError(
            f"{describe(spec)} has no lifetime: no node of the graph uses it, or "
            "update_all_tensors_lifetime() did not run before the plan"
        )
    if not 0 <= first <= last:
        raise ValueError(f"{describe(spec)} ends before it begins")


def _check_memory(spec: Spec) -> None:
    memory = spec.mem_id
    if memory is None:
        return
    if not isinstance(memory, int) or not 1 <= memory < _MOST_MEMORIES:
        raise ValueError(
            f"{describe(spec)} has mem_id {memory!r}; memories that are planned have numbers "
            f"from 1 to {_MOST_MEMORIES - 1} (0 is that of constants)"
        )


def _check_storage(spec: Spec, known: set[Spec], alignment: int) -> None:
    """Check a tensor that lies inside another one."""
    base, offset = base_of(spec.storage_base), spec.storage_base_offset
    seen = {spec}
    while base is not None:
        if base in seen:
            raise ValueError(f"{describe(spec)} lies inside itself, by way of storage_base")
        if base not in known:
            raise ValueError(
                f"{describe(spec)} lies inside the {describe(base)}, which is not planned here: "
                "a constant, an input, an output or a buffer whose memory is provided, or a tensor "
                "of another device"
            )
        seen.add(base)
        base = None if base.storage_base is None else base_of(base.storage_base)
    base = base_of(spec.storage_base)
    if spec.mem_id is not None and base.mem_id is not None and spec.mem_id != base.mem_id:
        raise ValueError(
            f"{describe(spec)} has mem_id {spec.mem_id}, but lies inside the {describe(base)} "
            f"with mem_id {base.mem_id}"
        )
    if offset % alignment:
        raise ValueError(
            f"{describe(spec)} lies at byte {offset} of the {describe(base)}; that is no multiple "
            f"of the alignment of {alignment} bytes"
        )
    if offset < 0 or offset + spec.allocated_memory > base.allocated_memory:
        raise ValueError(
            f"{describe(spec)} takes bytes [{offset}, {offset + spec.allocated_memory}) of the "
            f"{describe(base)}, which has {base.allocated_memory} bytes"
        )
