"""The tensors of a graph as ExecuTorch describes them: checked and without duplicates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from torch.fx import GraphModule

from usmp_solver.integrations.executorch.interface import (
    TensorSpec,
    ViewSpec,
    extend_storage_base_lifetimes,
    filter_nodes,
    get_node_tensor_specs,
)

Spec: TypeAlias = Any
"""A `TensorSpec` of ExecuTorch, compared by identity."""

DEFAULT_MEMORY = 1
"""The memory of tensors that name none; memory 0 holds constants."""
_MOST_MEMORIES = 1 << 16
_MOST_BYTES = 1 << 62
_LARGEST_ALIGNMENT = 1 << 31


def base_of(spec: Spec) -> Spec:
    """Return the tensor whose place a view has; any other tensor is its own base."""
    while isinstance(spec, ViewSpec):
        spec = spec._base
    return spec


def storage_of(node: Any) -> list[Spec]:
    """Return the tensors that store the values of a node."""
    return [base_of(spec) for spec in get_node_tensor_specs(node)]


def memory_of(spec: Spec) -> int:
    """Return the number of the memory that holds the tensor."""
    return DEFAULT_MEMORY if spec.mem_id is None else int(spec.mem_id)


def describe(spec: Spec) -> str:
    """Describe the tensor for messages, because ExecuTorch's tensors have no names."""
    return f"tensor of {spec.dtype} {list(spec.shape)} (lifetime {spec.lifetime})"


def prepare(alignment: int, specs: Iterable[Spec]) -> list[Spec]:
    """Return the distinct tensors to place, with aligned sizes.

    Raises
    ------
    ValueError
        The alignment is no power of two, or a tensor contradicts itself or another one.
    """
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"the alignment has to be a power of two, in bytes, not {alignment!r}")
    if alignment > _LARGEST_ALIGNMENT:
        raise ValueError(f"the alignment is {alignment} bytes; at most {_LARGEST_ALIGNMENT} may be")
    tensors = list(dict.fromkeys(map(base_of, specs)))
    total = 0
    for spec in tensors:
        spec.realign(alignment)
        _check_lifetime(spec)
        _check_memory(spec)
        total += spec.allocated_memory
        if total > _MOST_BYTES:
            raise ValueError(
                f"{describe(spec)} takes {spec.allocated_memory} bytes, with the tensors before it "
                f"{total}; no memory has more than {_MOST_BYTES}"
            )
    known = set(tensors)
    for spec in tensors:
        if spec.storage_base is not None:
            _check_storage(spec, known, alignment)
    return tensors


def extend_lifetimes(graph_module: GraphModule) -> None:
    """Extend the lifetimes of tensors to their last use by any node.

    ExecuTorch ignores nodes that write in place (`run_reinplace_pass`): it ends a tensor's lifetime
    although the result of such a node, which is the same tensor, is used later.
    """
    used: set[Spec] = set()
    for index, node in enumerate(graph_module.graph.nodes):
        for argument in filter_nodes([*node.args, *node.kwargs.values()]):
            for spec in storage_of(argument):
                first, last = spec.lifetime
                if first is not None and last is not None and last < index:
                    spec.lifetime = [first, index]
                    used.add(spec)
    extend_storage_base_lifetimes(used)


def _check_lifetime(spec: Spec) -> None:
    lifetime = spec.lifetime
    if not isinstance(lifetime, list | tuple) or len(lifetime) != 2:
        raise ValueError(f"{describe(spec)}: a lifetime has the first and the last node")
    first, last = lifetime
    if first is None or last is None:
        raise ValueError(
            f"{describe(spec)} has no lifetime: no node of the graph uses it, or "
            "update_all_tensors_lifetime() did not run before the plan"
        )
    if not (isinstance(first, int) and isinstance(last, int)) or first < 0:
        raise ValueError(f"{describe(spec)}: nodes are counted from 0")
    if last < first:
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
    if not isinstance(base, TensorSpec) or not isinstance(offset, int):
        raise ValueError(
            f"{describe(spec)}: storage_base {base!r} is no tensor, or storage_base_offset "
            f"{offset!r} is no number of bytes"
        )
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
