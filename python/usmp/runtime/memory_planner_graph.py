"""What a planner knows of a Relax function: the tensors that it allocates, and when they are live.

Read where `R.builtin.alloc_tensor` is, that is after `CallTIRRewrite`. A value refers to a tensor
if it is it, may be a view of it, or has it in a tuple; a tensor is live from its allocation to the
last use of what refers to it. Whatever is not known of a call is taken to be so: its result refers
to all that its arguments refer to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, GlobalVar, IRModule, Op, PrimType, TupleType

from usmp.tir.nodes import nodes_of

Referred = frozenset[int]
_NOTHING: Referred = frozenset()


@dataclass
class ManagedTensor:
    """A tensor that a function allocates, each time at the same place.

    Parameters
    ----------
    name
        of the function and of the variable.
    shape
        what it is allocated with.
    ndim, dtype
        of the tensor.
    is_output
        the function may return it.
    start, stop
        half-open span of positions in which it is live.
    is_in_branch
        whether the function allocates it depends on its inputs.
    is_expected
        its shape follows from those of the parameters.
    """

    name: str
    shape: relax.Expr
    ndim: int
    dtype: str
    start: int
    stop: int
    is_output: bool = False
    is_in_branch: bool = False
    is_expected: bool = False


@dataclass
class FunctionMemory:
    """What a planner knows of one function.

    Parameters
    ----------
    tensors
        in the order of their allocation.
    numbers
        variable to number of the tensor that it is bound to.
    killed_after
        variable of a binding to those that are used there for the last time.
    num_unmanaged
        values that the function has from elsewhere: results of functions that allocate them
        themselves, and allocations that are left to TVM.
    num_borrowed
        values that are others: views, tuples, what is taken out of tuples, results of branches.
    num_scalars
        shapes and numbers.
    """

    tensors: list[ManagedTensor] = field(default_factory=list)
    numbers: dict[relax.Var, int] = field(default_factory=dict)
    killed_after: dict[relax.Var, list[relax.Var]] = field(default_factory=dict)
    num_unmanaged: int = 0
    num_borrowed: int = 0
    num_scalars: int = 0

    @property
    def expected(self) -> list[int]:
        """Numbers of the tensors whose sizes are known when the function begins."""
        return [number for number, each in enumerate(self.tensors) if each.is_expected]


def managed_functions(mod: IRModule) -> list[str]:
    """Names of the Relax functions that no other one calls: only they may be running once."""
    called = {
        str(each.name_hint)
        for func in mod.functions.values()
        if isinstance(func, relax.Function)
        for each in nodes_of(func.body, GlobalVar)
    }
    names = [str(v.name_hint) for v, func in mod.functions.items() if _is_relax(func)]
    return [name for name in names if name not in called]


def read_function(mod: IRModule, name: str) -> FunctionMemory:
    """The tensors of the function of that name.

    Parameters
    ----------
    mod
        operators are lowered to calls with destinations, and memory is not planned.
    name
        one of `managed_functions`.
    """
    return _Reader(mod, name).read(mod[name])


def _is_relax(func: object) -> bool:
    return isinstance(func, relax.Function)


class _Reader:
    """Walks a function in the order in which it runs; a branch after the other."""

    def __init__(self, mod: IRModule, name: str) -> None:
        self.mod = mod
        self.name = name
        self.memory = FunctionMemory()
        self.position = 0
        self.refers: dict[relax.Var, Referred] = {}
        self.known_at_entry: set[tirx.Var] = set()
        # The machine keeps what a branch results in until the function ends.
        self.until_end: set[int] = set()

    def read(self, function: relax.Function) -> FunctionMemory:
        for parameter in function.params:
            self.known_at_entry |= set(relax.analysis.definable_tir_vars_in_type(parameter.ty))
            if isinstance(parameter.ty, PrimType):
                self.known_at_entry.add(parameter)
        returned = self.sequence(function.body, in_branch=False)
        for number, tensor in enumerate(self.memory.tensors):
            tensor.is_output = number in returned
            if number in self.until_end:
                tensor.stop = self.position + 1
        return self.memory

    def sequence(self, body: relax.SeqExpr, in_branch: bool) -> Referred:
        """Read its bindings; what its result refers to."""
        scope = _Scope()
        for binding in bindings_of(body):
            self.position += 1
            value = _value_of(binding)
            used = _variables_of(value)
            scope.add(binding, used)
            self.refers[binding.var] = self.bound(binding, value, used, in_branch)
        result = _variables_of(body.body)
        self.position += 1
        for variable, last in scope.last_uses(result):
            if self.refers.get(variable, _NOTHING):
                self.memory.killed_after.setdefault(last, []).append(variable)
        return self.touch(result)

    def bound(
        self, binding: relax.Binding, value: relax.Expr, used: list[relax.Var], in_branch: bool
    ) -> Referred:
        """What the variable of this binding refers to."""
        if isinstance(value, relax.If):
            branches = (value.true_branch, value.false_branch)
            results = [self.sequence(branch, in_branch=True) for branch in branches]
            self.memory.num_borrowed += 1
            self.until_end |= results[0] | results[1]
            # What a branch has used lives until both are over.
            self.position += 1
            self.touch(used)
            return results[0] | results[1]
        touched = self.touch(used)
        if isinstance(value, Call) and getattr(value.op, "name", "") == _ALLOCATION:
            return self.allocation(binding.var, value, in_branch)
        kind = binding.var.ty
        if isinstance(kind, TupleType) and not kind.fields:
            return _NOTHING
        if isinstance(kind, (relax.ShapeType, PrimType)):
            self.memory.num_scalars += 1
            return _NOTHING
        if isinstance(value, Call) and not _is_view(value):
            self.memory.num_unmanaged += 1
        elif not isinstance(value, GenericConst):
            self.memory.num_borrowed += 1
        return touched

    def allocation(self, variable: relax.Var, call: Call, in_branch: bool) -> Referred:
        shape, kind = call.args[0], variable.ty
        dtype = tvm_ffi.dtype(str(kind.dtype)) if isinstance(kind, relax.TensorType) else None
        if dtype is None or dtype.bits % 8 or kind.ndim < 0 or not _is_in_host_memory(call):
            self.memory.num_unmanaged += 1
            return _NOTHING
        number = len(self.memory.tensors)
        self.memory.numbers[variable] = number
        self.memory.tensors.append(
            ManagedTensor(
                name=f"{self.name}.{variable.name}",
                shape=shape,
                ndim=int(kind.ndim),
                dtype=str(kind.dtype),
                start=self.position,
                stop=self.position + 1,
                is_in_branch=in_branch,
                is_expected=self.is_known_at_entry(shape),
            )
        )
        return frozenset([number])

    def is_known_at_entry(self, shape: relax.Expr) -> bool:
        return isinstance(shape, relax.ShapeExpr) and all(
            variable in self.known_at_entry
            for extent in shape.values
            for variable in nodes_of(extent, tirx.Var)
        )

    def touch(self, variables: Iterable[relax.Var]) -> Referred:
        """Note that what they refer to is used now; all of that."""
        touched = _NOTHING.union(*(self.refers.get(each, _NOTHING) for each in variables))
        for number in touched:
            self.memory.tensors[number].stop = self.position + 1
        return touched


class _Scope:
    """The variables of one sequence, and where each is used for the last time.

    Another name for a variable is the variable: later passes make it so.
    """

    def __init__(self) -> None:
        self.last: dict[relax.Var, relax.Var] = {}
        self.roots: dict[relax.Var, relax.Var] = {}

    def root_of(self, variable: relax.Var) -> relax.Var:
        return self.roots.get(variable, variable)

    def add(self, binding: relax.Binding, used: Iterable[relax.Var]) -> None:
        for variable in map(self.root_of, used):
            if variable in self.last:
                self.last[variable] = binding.var
        if isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.Var):
            self.roots[binding.var] = self.root_of(binding.value)
        else:
            self.last[binding.var] = binding.var

    def last_uses(self, result: Iterable[relax.Var]) -> Iterator[tuple[relax.Var, relax.Var]]:
        """Each variable that is not in the result, with the binding that uses it last."""
        kept = set(map(self.root_of, result))
        return ((each, last) for each, last in self.last.items() if each not in kept)


_ALLOCATION = "relax.builtin.alloc_tensor"
_VIEWS = frozenset({"relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"})


def bindings_of(body: relax.SeqExpr) -> Iterator[relax.Binding]:
    """The bindings of a sequence, in order."""
    for block in body.blocks:
        yield from block.bindings


def _value_of(binding: relax.Binding) -> relax.Expr:
    return binding.value


def _variables_of(value: relax.Expr) -> list[relax.Var]:
    return list(relax.analysis.free_vars(value))


def _is_view(call: Call) -> bool:
    return isinstance(call.op, Op) and call.op.name in _VIEWS


def _is_in_host_memory(call: Call) -> bool:
    _, _, device, scope = call.args
    return int(getattr(device, "value", -1)) == 0 and str(getattr(scope, "value", "")) == "global"


def bytes_of(tensor: ManagedTensor) -> tirx.Expr:
    """The size of an expected tensor, in bytes, as an expression of the parameters' shapes."""
    dtype = tvm_ffi.dtype(tensor.dtype)
    size = tirx.IntImm("int64", dtype.bits // 8 * dtype.lanes)
    for extent in tensor.shape.values:
        size = size * extent
    return size
