"""In-place outputs: an output takes the place of an input that dies there.

An element-wise kernel reads element `i` of each input and writes element `i` of the output. So the
output may take the place of an input that is not read later, if both have the same elements in the
same order. Here the conditions on the graph are checked; `operators.py` has those on operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch.fx import GraphModule, Node

from usmp_solver.integrations.executorch.blocks import Block
from usmp_solver.integrations.executorch.interface import (
    TensorShapeDynamism,
    TensorSpec,
    filter_nodes,
    is_out_variant_call,
    memory,
)
from usmp_solver.integrations.executorch.operators import is_element_wise, output_names
from usmp_solver.integrations.executorch.tensors import Spec, base_of, memory_of, storage_of


def share_in_place(
    graph_module: GraphModule,
    blocks: dict[Spec, Block],
    runs_in_place: Callable[[Any], bool],
    kept: set[Spec],
    prefer_last: bool = False,
) -> dict[Spec, Spec]:
    """Place outputs over dying inputs, and merge their blocks in `blocks`.

    Parameters
    ----------
    graph_module
        graph with memory.alloc nodes, and lifetimes of all tensors.
    blocks
        blocks of the planned tensors.
    runs_in_place
        returns whether an operator (`torch._ops.OpOverload`) may run in place.
    kept
        tensors that no output may overwrite.
    prefer_last
        whether to take the last suitable input instead of the first.

    Returns
    -------
    dict
        outputs, each with the input whose place it takes.
    """
    shared: dict[Spec, Spec] = {}
    for index, node in enumerate(graph_module.graph.nodes):
        if not is_out_variant_call(node) or not runs_in_place(node.target):
            continue
        output = _output_of(node)
        if output is None or not _begins_a_block(output, blocks):
            continue
        inputs = list(_tensor_arguments(node))
        specs = [argument.meta["spec"] for argument in inputs]
        if not reads_in_order(node.target, specs, output):
            continue
        for argument in reversed(inputs) if prefer_last else inputs:
            spec = base_of(argument.meta["spec"])
            if (
                spec in blocks
                and spec not in kept
                and _has_same_elements(argument, node, output)
                and _dies_at(index, spec, output, blocks, shared)
                and _is_read_like(argument, inputs, blocks)
            ):
                shared[output] = spec
                joined = blocks[output]
                blocks[spec].add(joined)
                # Move tensors inside the output, too.
                for member in joined.members:
                    blocks[member] = blocks[spec]
                break
    return shared


def _output_of(node: Node) -> Spec | None:
    """Return the first output of the call; None if another call uses its allocation too."""
    allocation = node.kwargs.get(output_names(node.target)[0])
    if (
        not isinstance(allocation, Node)
        or allocation.target is not memory.alloc
        or list(allocation.users) != [node]
        or not isinstance(allocation.meta.get("spec"), TensorSpec)
    ):
        return None
    return allocation.meta["spec"]


def _begins_a_block(output: Spec, blocks: dict[Spec, Block]) -> bool:
    """Return whether the output is planned, has bytes, and lies in no other tensor."""
    return output in blocks and output.storage_base is None and blocks[output].size > 0


def _tensor_arguments(node: Node) -> Iterator[Node]:
    """Yield the tensors that the call reads, as positional or keyword arguments."""
    outputs = output_names(node.target)
    values = [*node.args, *(v for name, v in node.kwargs.items() if name not in outputs)]
    for argument in filter_nodes(values):
        if isinstance(argument.meta.get("spec"), TensorSpec):
            yield argument


def _has_same_elements(argument: Node, node: Node, output: Spec) -> bool:
    """Return whether element `i` of the argument and of the output have the same bytes."""
    spec = argument.meta["spec"]
    if (
        spec.const
        or spec.dtype != output.dtype
        or not has_same_form(spec, output)
        or base_of(spec).allocated_memory != output.allocated_memory
        or memory_of(base_of(spec)) != memory_of(output)
    ):
        return False
    dynamism = {spec.shape_dynamism, output.shape_dynamism}
    if dynamism == {TensorShapeDynamism.STATIC}:
        return True
    # Equal upper bounds do not suffice, because one tensor may be broadcast.
    return dynamism == {TensorShapeDynamism.DYNAMIC_BOUND} and _has_same_symbols(argument, node)


def _has_same_symbols(argument: Node, node: Node) -> bool:
    values = [source.meta.get("val") for source in (argument, node)]
    firsts = [value[0] if isinstance(value, (list, tuple)) else value for value in values]
    if any(value is None for value in firsts):
        return False
    # A size is an int or a torch.SymInt. Comparing SymInts would add guards.
    old, new = (
        [getattr(getattr(size, "node", size), "expr", size) for size in value.shape]
        for value in firsts
    )
    return bool(old == new)


def _dies_at(
    index: int, spec: Spec, output: Spec, blocks: dict[Spec, Block], shared: dict[Spec, Spec]
) -> bool:
    """Return whether nothing reads the bytes of the tensor after this node.

    Other tensors in the same place must be dead before the output is allocated, except a chain of
    in-place outputs: ExecuTorch's Verifier allows no other overlap.
    """
    block = blocks[spec]
    if spec.storage_base is not None or spec.lifetime[1] != index or block.last != index:
        return False
    below = {spec}
    while spec in shared:
        spec = shared[spec]
        below.add(spec)
    begin = output.lifetime[0]
    return begin <= index and all(
        member in below or member.lifetime[1] < begin for member in block.members
    )


def _is_read_like(argument: Node, inputs: list[Node], blocks: dict[Spec, Block]) -> bool:
    """Return whether all arguments with the same bytes read them in the same order."""
    spec = argument.meta["spec"]
    block = blocks[base_of(spec)]
    return all(
        storage is base_of(spec) and has_same_form(other.meta["spec"], spec)
        for other in inputs
        for storage in storage_of(other)
        if blocks.get(storage) is block
    )


def has_same_form(one: Spec, other: Spec) -> bool:
    """Return whether two tensors have the same shape and element order."""
    return list(one.shape) == list(other.shape) and list(one.dim_order) == list(other.dim_order)


def reads_in_order(operator: Any, inputs: Iterable[Spec], output: Spec) -> bool:
    """Return whether kernels read the inputs in the memory order of the output.

    If ExecuTorch's kernels broadcast an input or read whole rows, they index elements as if all
    tensors had the default dimension order.
    """
    tensors = [*inputs, output]
    if all(list(tensor.dim_order) == sorted(tensor.dim_order) for tensor in tensors):
        return True
    return is_element_wise(operator) and all(has_same_form(tensor, output) for tensor in tensors)
