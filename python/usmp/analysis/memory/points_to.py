"""Points-to analysis: the memories that the variables of a PrimFunc point to.

A variable points into the memory of a parameter, of an AllocBuffer, or of a block that a call
allocates, or to an address that is computed from other variables. A variable with several
declarations, which SSA form excludes, may point to the address of any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import tvm_ffi
from tvm import tirx
from tvm.ir import PointerType, TensorLoad

from usmp.analysis.memory.addresses import address_of, is_constant
from usmp.analysis.memory.element_layout import element_layout
from usmp.analysis.memory.memories import Address, Memory
from usmp.support.found import Found
from usmp.tir.dtypes import item_bytes
from usmp.tir.dynamic_allocator import is_allocation
from usmp.tir.identity import identity
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import is_op


@dataclass(frozen=True, eq=False)
class PointsTo:
    """The memories of a PrimFunc, and the addresses of its variables in them.

    Parameters
    ----------
    memories
        its parameters, followed by AllocBuffers and blocks allocated by calls, in program order.
    addresses
        the addresses that a variable may have; empty if it points to no memory.
    sources
        the variables that the declared address of a variable is computed from.
    layouts
        for some buffers, the memories that their shape, strides or offset depend on.
    """

    memories: Sequence[Memory]
    addresses: Mapping[tirx.Var, tuple[Address, ...]]
    sources: Mapping[tirx.Var, tuple[tirx.Var, ...]]
    layouts: Mapping[tirx.Var, tuple[Memory, ...]]
    _found: Found = field(default_factory=Found)

    def of(self, var: tirx.Var) -> tuple[Memory, ...]:
        """Return the memories that a variable may point into."""
        return _memories(self.addresses.get(var, ()))

    @cached_property
    def memories_behind(self) -> Mapping[tirx.Var, tuple[Memory, ...]]:
        """The result of `of` for all parameters and declared variables."""
        return {var: self.of(var) for var in self.addresses}

    @cached_property
    def _variables(self) -> dict[int, tirx.Var]:
        return {identity(var): var for var in self.addresses}

    def known(self, var: tirx.Var) -> tirx.Var | None:
        """Return one Python object for all uses of a parameter or declared variable; else None.

        TVM creates a Python object at each access to a variable. These objects are equal as keys
        of a dictionary, but comparing them takes most of the time.
        """
        return self._variables.get(identity(var))

    def behind_all(self, variables: Iterable[tirx.Var]) -> Iterable[Memory]:
        """Return the memories that any of some variables may point into, each once."""
        return dict.fromkeys(m for var in variables for m in self.memories_behind.get(var, ()))

    def views(self, memory: Memory) -> list[tirx.Var]:
        """Return the buffers that begin at the start of a memory, except the memory itself."""
        return [
            var
            for var, addresses in self.addresses.items()
            if tirx.is_buffer_var(var) and not var.same_as(memory) and Address(memory) in addresses
        ]

    def memories_of(self, expr: tirx.Expr) -> tuple[Memory, ...]:
        """Return the memories that the value of an expression may point into."""
        bases = [expr] if isinstance(expr, tirx.Var) else address_of(expr).bases
        return _memories(address for base in bases for address in self.addresses.get(base, ()))

    def addresses_of(self, pointer: tirx.Expr) -> tuple[Address, ...]:
        """Return the addresses that a pointer may have."""
        if is_op(pointer, "tirx.buffer_data"):
            pointer = pointer.args[0]
        if isinstance(pointer, tirx.Var):
            return self.addresses.get(pointer, ())
        if is_op(pointer, "tirx.address_of") and isinstance(pointer.args[0], TensorLoad):
            load = pointer.args[0]
            return self.element(load.source, load.indices[:])
        return tuple(Address(memory, None) for memory in self.memories_of(pointer))

    def element(self, buffer: tirx.Var, indices: list[tirx.Expr]) -> tuple[Address, ...]:
        """Return the addresses that an element of a buffer may have."""
        addresses = self.addresses.get(buffer, ())
        if not addresses:
            return ()
        layout = self._found.once(("layout", buffer), lambda: element_layout(buffer))
        terms = None if layout is None else layout.terms(indices)
        return tuple(address.plus(terms) for address in addresses)

    def element_bytes(self, buffer: tirx.Var) -> int:
        """Return the bytes of an element of a buffer."""
        return self._found.once(("bytes", buffer), lambda: item_bytes(str(buffer.dtype)))


def points_to(func: tirx.PrimFunc) -> PointsTo:
    """Return the memories that the variables of a PrimFunc in flat TIR point to."""
    declared = _declarations(func.body)
    allocated = [v for v, addresses in declared.items() if any(a is None for a in addresses)]
    memories = list(dict.fromkeys([*func.params[:], *allocated]))
    of_variables: dict[tirx.Var, tuple[Address, ...]] = {
        memory: (Address(memory),) for memory in memories
    }
    layouts: dict[tirx.Var, tuple[Memory, ...]] = {}
    sources = {var: _sources(addresses) for var, addresses in declared.items()}
    result = PointsTo(memories, of_variables, sources, layouts)
    several = {v for v in declared if len(declared[v]) > 1} | _used_before(sources)
    changes = True
    while changes:
        changes = False
        for var, addresses in declared.items():
            pointed = [_address(result, var, address) for address in addresses]
            if var in several:
                known = dict.fromkeys([*result.of(var), *_memories(chain(*pointed))])
                pointed = [tuple(Address(memory, None) for memory in known)]
            before = result.of(var), layouts.get(var, ())
            of_variables[var] = pointed[0]
            layout = _layout(result, var)
            if layout:
                layouts[var] = layout
            # Iterate only if a variable is declared several times, or used before its declaration.
            changes |= bool(several) and before != (result.of(var), layout)
    return result


def _declarations(body: tirx.Stmt) -> dict[tirx.Var, list[tirx.Expr | None]]:
    """Return the declared addresses of variables, in program order; None is an allocation."""
    declared: dict[tirx.Var, list[tirx.Expr | None]] = {}

    def declare(var: tirx.Var, address: tirx.Expr | None) -> None:
        known = declared.setdefault(var, [])
        if not any(tvm_ffi.structural_equal(address, other) for other in known):
            known.append(address)

    callbacks = [
        (tirx.DeclBuffer, lambda stmt: declare(stmt.buffer, stmt.data)),
        (tirx.AllocBuffer, lambda stmt: declare(stmt.buffer, None)),
        (
            (tirx.Bind, tirx.Let),
            lambda bound: declare(bound.var, None if is_allocation(bound.value) else bound.value),
        ),
    ]
    tvm_ffi.structural_walk(body, callbacks, order="pre")
    return declared


def _sources(addresses: Sequence[tirx.Expr | None]) -> tuple[tirx.Var, ...]:
    bases = (address_of(address).bases for address in addresses if address is not None)
    return tuple(dict.fromkeys(chain(*bases)))


def _used_before(sources: Mapping[tirx.Var, Sequence[tirx.Var]]) -> set[tirx.Var]:
    """Return the variables that are computed from variables declared later in program order."""
    early: set[tirx.Var] = set()
    pending = set(sources)
    for var, bases in sources.items():
        if not pending.isdisjoint(bases):
            early.add(var)
        pending.remove(var)
    return early


def _address(points: PointsTo, var: tirx.Var, address: tirx.Expr | None) -> tuple[Address, ...]:
    """Return the addresses of `var` if it is declared at `address`."""
    if address is None:
        return (Address(var),)
    if tirx.is_buffer_var(var) or isinstance(var.ty, PointerType):
        return points.addresses_of(address)
    # A number may be an address, because TIR can cast a pointer to a number.
    return tuple(Address(memory, None) for memory in points.memories_of(address))


def _layout(points: PointsTo, buffer: tirx.Var) -> tuple[Memory, ...]:
    """Return the memories that the layout of a buffer, or of a source of it, depends on."""
    if not tirx.is_buffer_var(buffer):
        return ()
    layout = [*buffer.shape[:], *buffer.strides[:], buffer.elem_offset]
    loaded = [part for part in layout if part is not None and not is_constant(part)]
    variables = nodes_of(loaded, tirx.Var) if loaded else []
    read = [memory for var in variables for memory in points.of(var)]
    read += [m for var in points.sources[buffer] for m in points.layouts.get(var, ())]
    return tuple(dict.fromkeys(read))


def _memories(addresses: Iterable[Address]) -> tuple[Memory, ...]:
    return tuple(dict.fromkeys(address.memory for address in addresses))
