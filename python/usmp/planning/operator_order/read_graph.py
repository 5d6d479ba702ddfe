"""The calls of `__tvm_main__` as a graph: their dependencies, and the bytes that each needs.

A statement that reads bytes stays after the statement that wrote them. A statement that overwrites
bytes stays after the statements that read or wrote them. Calls that access separate known bytes of
a memory may change places. Statements with effects outside of memory stay in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tvm.ir import IRModule

from usmp.analysis.buffer_extraction import may_share_bytes
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.facts import module_facts
from usmp.analysis.memory.main_statements import MainStatement, MemoryAccess, main_statements
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.side_effects import Effect
from usmp.objects.attributes.annotations import INPUT_TENSOR_ATTR, OUTPUT_TENSOR_ATTR
from usmp.planning.operator_order.graph import GraphCall, GraphTensor, OperatorGraph, TensorUse
from usmp.planning.operator_order.reuse_bytes import MemoryOfCallee, ReuseBytes


def operator_graph(mod: IRModule, preserve_inputs: bool, overlap: bool) -> OperatorGraph | None:
    """Return the graph of the statements of `__tvm_main__` without declarations, in program order;
    None if their accesses are unknown, or if there is only one order.

    Its tensors are AllocBuffers that may share bytes: inputs live at entry, outputs at exit, but no
    constants, no states, and no buffers that are live throughout. Inputs and outputs that are
    parameters are no tensors of the graph (see `usmp.transform.CreateAllocatesForIO`).

    Parameters
    ----------
    mod
        the module, before it is planned.
    preserve_inputs
        whether inputs live to the exit.
    overlap
        whether outputs may overwrite inputs that an operator has read (see `safe_overlap`).

    Raises
    ------
    ValueError
        a PrimFunc that calls itself, or that is not lowered to flat TIR.
    """
    facts = module_facts(mod)
    main = main_statements(facts)
    if main is None:
        return None
    orders = _Orders()
    after = [orders.add(statement) for statement in main.statements]
    if all(index in before for index, before in enumerate(after[1:])):
        return None
    tensors: list[GraphTensor] = []
    counted: dict[Memory, int] = {}
    used = {memory for statement in main.statements for memory in statement.ranges}
    for memory, stmt in main.memories.items():
        if memory in used and stmt is not None and may_share_bytes(stmt):
            counted[memory] = len(tensors)
            is_input = INPUT_TENSOR_ATTR.is_on(stmt)
            at_exit = OUTPUT_TENSOR_ATTR.is_on(stmt) or (is_input and preserve_inputs)
            tensors.append(GraphTensor(size_bytes(stmt.buffer), is_input, at_exit))
    calls = []
    for statement, before in zip(main.statements, after, strict=True):
        uses: list[TensorUse] = []
        memories: dict[int, list[MemoryOfCallee]] = {}
        for memory, (first, stop) in statement.ranges.items():
            if memory in counted:
                uses.append(TensorUse(counted[memory], first, stop - 1))
        for argument in statement.arguments:
            if argument.memory in counted:
                place = MemoryOfCallee(argument.parameter, argument.byte_offset)
                memories.setdefault(counted[argument.memory], []).append(place)
        for scratch, (first, stop) in statement.scratch:
            if may_share_bytes(scratch):
                uses.append(TensorUse(len(tensors), first, stop - 1))
                memories[len(tensors)] = [MemoryOfCallee(scratch.buffer)]
                tensors.append(GraphTensor(size_bytes(scratch.buffer)))
        reuse_bytes: Mapping[tuple[int, int], int] = {}
        if overlap and statement.callee is not None:
            reuse_bytes = ReuseBytes(facts.of(statement.callee), memories, tensors)
        calls.append(GraphCall(tuple(uses), tuple(sorted(before)), reuse_bytes))
    return OperatorGraph(tuple(tensors), tuple(calls))


@dataclass
class _Orders:
    """The statements that must come before the next one."""

    count: int = 0
    reads: dict[Memory, list[tuple[int, MemoryAccess]]] = field(default_factory=dict)
    writes: dict[Memory, list[tuple[int, MemoryAccess]]] = field(default_factory=dict)
    """By memory, each statement and its access, since the last write of the whole memory."""
    effect: int | None = None
    """The last statement with an effect."""
    barrier: int | None = None
    """The last statement that may end the run."""

    def add(self, statement: MainStatement) -> set[int]:
        """Add the next statement, and return the statements that must come before it."""
        index = self.count
        self.count += 1
        before = {other for other in (self.barrier,) if other is not None}
        for access in statement.accesses:
            earlier = self.writes.get(access.memory, [])
            if access.may_write:
                earlier = earlier + self.reads.get(access.memory, [])
            before.update(other for other, known in earlier if _meet(known, access))
        for access in statement.accesses:
            if access.may_write and access.start == 0 and access.stop is None:
                self.reads[access.memory], self.writes[access.memory] = [], []
            known = self.writes if access.may_write else self.reads
            known.setdefault(access.memory, []).append((index, access))
        if statement.effect:
            before.update(other for other in (self.effect,) if other is not None)
            self.effect = index
        if statement.effect == Effect.MAY_END:
            before = set(range(index))
            self.barrier = index
        return before


def _meet(a: MemoryAccess, b: MemoryAccess) -> bool:
    """Return whether two accesses of one memory have a byte in common."""
    return (b.stop is None or a.start < b.stop) and (a.stop is None or b.start < a.stop)
