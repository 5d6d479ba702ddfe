"""A reader of the memory of a Relax function, after `CallTIRRewrite`.

A value refers to a tensor if it is the tensor, may be a view of the tensor, or is a tuple with the
tensor. A tensor is live from its allocation to the last use of a value that refers to it. The
result of an unknown call refers to all tensors that its arguments refer to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import tvm_ffi
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, GlobalVar, IRModule, PrimType, TupleType

from usmp.analysis.relax_functions.function_memory import (
    CallSite,
    FunctionMemory,
    ManagedTensor,
    TensorArgument,
    device_index_of,
    scope_of,
)
from usmp.tir.nodes import bindings_of, nodes_of
from usmp.tir.op_names import op_name

Referred = frozenset[int]
_NOTHING: Referred = frozenset()


def read_function(mod: IRModule, name: str, is_managed: Callable[[Call], bool]) -> FunctionMemory:
    """Return the tensors and calls of a Relax function.

    Parameters
    ----------
    mod
        a module with destination-passing calls (`R.builtin.alloc_tensor`), not yet planned.
    name
        name of the Relax function.
    is_managed
        returns whether a planner places the tensor of an `R.builtin.alloc_tensor`.
    """
    return _Reader(mod, name, is_managed).read(mod[name])


class _Reader:
    """A walk over a function in execution order, with one branch after the other."""

    def __init__(self, mod: IRModule, name: str, is_managed: Callable[[Call], bool]) -> None:
        self.name = name
        self.is_managed = is_managed
        self.operators = {
            str(variable.name_hint)
            for variable, func in mod.functions.items()
            if isinstance(func, tirx.PrimFunc)
        }
        self.memory = FunctionMemory()
        self.position = 0
        self.refers: dict[relax.Var, Referred] = {}
        self.wholes: dict[relax.Var, int] = {}
        self.fields: dict[relax.Var, relax.Tuple] = {}
        self.known_at_entry: set[tirx.Var] = set()
        # The VM keeps the results of branches until the function ends.
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
        """Read the bindings of a sequence, and return the tensors that its result refers to."""
        scope = _Scope()
        for binding in bindings_of(body):
            self.position += 1
            variable, value = binding.var, _value_of(binding)
            used = _variables_of(value)
            is_name = isinstance(binding, relax.VarBinding) and isinstance(value, relax.Var)
            scope.add(variable, used, is_name)
            self.refers[variable] = self.bound(variable, value, used, in_branch)
        result = _variables_of(body.body)
        self.position += 1
        for variable, last in scope.last_uses(result):
            if self.refers.get(variable, _NOTHING):
                self.memory.killed_after.setdefault(last, []).append(variable)
        return self.touch(result)

    def bound(
        self, variable: relax.Var, value: relax.Expr, used: list[relax.Var], in_branch: bool
    ) -> Referred:
        """Read one binding, and return the tensors that its variable refers to."""
        if isinstance(value, relax.If):
            branches = (value.true_branch, value.false_branch)
            # The VM itself reads the condition.
            self.give_away(self.touch(_variables_of(value.cond)))
            results = [self.sequence(branch, in_branch=True) for branch in branches]
            self.memory.num_borrowed += 1
            self.until_end |= results[0] | results[1]
            # Tensors that a branch uses stay live until both branches end.
            self.position += 1
            self.touch(used)
            return results[0] | results[1]
        field = self.field_of(value)
        if field is not None:
            # Only the extracted field of the tuple is used.
            value, used = field, _variables_of(field)
        touched = self.touch(used)
        if op_name(value) == _ALLOCATION:
            return self.allocation(variable, value, in_branch)
        if not self.call_site(variable, value):
            self.note_alias(variable, value, touched)
        kind = variable.ty
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
        if dtype is None or dtype.bits % 8 or kind.ndim < 0 or not self.is_managed(call):
            self.memory.num_unmanaged += 1
            return _NOTHING
        number = len(self.memory.tensors)
        self.memory.numbers[variable] = self.wholes[variable] = number
        self.memory.tensors.append(
            ManagedTensor(
                name=f"{self.name}.{variable.name}",
                shape=shape,
                ndim=int(kind.ndim),
                dtype=str(kind.dtype),
                start=self.position,
                stop=self.position + 1,
                device_index=device_index_of(call),
                scope=scope_of(call),
                is_in_branch=in_branch,
                is_expected=self.is_known_at_entry(shape),
            )
        )
        return frozenset([number])

    def is_known_at_entry(self, shape: relax.Expr) -> bool:
        return isinstance(shape, relax.ShapeExpr) and all(
            variable in self.known_at_entry
            for extent in shape.values[:]
            if not isinstance(extent, tirx.IntImm)
            for variable in nodes_of(extent, tirx.Var)
        )

    def touch(self, variables: Iterable[relax.Var]) -> Referred:
        """Record a use of all tensors that variables refer to, and return these tensors."""
        touched = _NOTHING.union(*(self.refers.get(variable, _NOTHING) for variable in variables))
        for number in touched:
            tensor = self.memory.tensors[number]
            tensor.stop = self.position + 1
            if tensor.first_use < 0:
                tensor.first_use = self.position
        return touched

    def give_away(self, referred: Referred) -> None:
        """Record that a callee other than a PrimFunc gets tensors."""
        for number in referred:
            self.memory.tensors[number].is_given_away = True

    def call_site(self, variable: relax.Var, value: relax.Expr) -> bool:
        """Record a call of a PrimFunc; return False if the value is not one."""
        call = call_of_operator(value)
        if call is None or call[0] not in self.operators:
            return False
        callee, arguments = call
        self.memory.calls.append(
            CallSite(self.position, variable, callee, tuple(map(self.argument, arguments)))
        )
        return True

    def argument(self, value: relax.Expr) -> TensorArgument:
        if isinstance(value, relax.Var):
            return TensorArgument(self.refers.get(value, _NOTHING), self.wholes.get(value))
        refers = _NOTHING.union(*(self.refers.get(part, _NOTHING) for part in _variables_of(value)))
        return TensorArgument(refers)

    def note_alias(self, variable: relax.Var, value: relax.Expr, touched: Referred) -> None:
        """Record the tensor that a variable aliases, or the tensors that its value gives away."""
        source = value
        if isinstance(value, Call):
            if not _is_view(value):
                self.give_away(touched)
                return
            source = value.args[0]
            if op_name(value) == "relax.memory.ensure_zero_offset":
                # This operator copies a tensor that does not begin at the start of its memory.
                self.give_away(touched)
            if op_name(value) == "relax.memory.view" and len(value.args) > 3:
                source = value if _has_offset(value) else source
        if isinstance(value, relax.Function):
            self.give_away(touched)
        if isinstance(source, relax.Tuple):
            self.fields[variable] = source
        if isinstance(source, relax.Var):
            if source in self.wholes:
                self.wholes[variable] = self.wholes[source]
            if source in self.fields:
                self.fields[variable] = self.fields[source]

    def field_of(self, value: relax.Expr) -> relax.Expr | None:
        """Return the field that a value extracts from a known tuple; None for other values."""
        if not isinstance(value, relax.TupleGetItem):
            return None
        source = value.tuple_value
        if isinstance(source, relax.TupleGetItem):
            source = self.field_of(source)
        fields = self.fields.get(source) if isinstance(source, relax.Var) else source
        return fields.fields[int(value.index)] if isinstance(fields, relax.Tuple) else None


class _Scope:
    """The variables of one sequence, with the binding of the last use of each.

    A use of an alias is a use of the variable behind it, because later passes replace aliases.
    """

    def __init__(self) -> None:
        self.last: dict[relax.Var, relax.Var] = {}
        self.roots: dict[relax.Var, relax.Var] = {}

    def root_of(self, variable: relax.Var) -> relax.Var:
        return self.roots.get(variable, variable)

    def add(self, variable: relax.Var, used: Iterable[relax.Var], is_name: bool) -> None:
        """Record a variable and those that its value uses; if `is_name`, it is an alias of one."""
        used = list(map(self.root_of, used))
        for source in used:
            if source in self.last:
                self.last[source] = variable
        if is_name:
            (self.roots[variable],) = used
        else:
            self.last[variable] = variable

    def last_uses(self, result: Iterable[relax.Var]) -> Iterator[tuple[relax.Var, relax.Var]]:
        """Return each variable that is not in the result, with the binding of its last use."""
        kept = set(map(self.root_of, result))
        return ((variable, last) for variable, last in self.last.items() if variable not in kept)


_ALLOCATION = "relax.builtin.alloc_tensor"
_VIEWS = frozenset(
    {
        "relax.reshape",
        "relax.memory.view",
        "relax.memory.ensure_zero_offset",
        "vm.builtin.reshape",
    }
)


def _value_of(binding: relax.Binding) -> relax.Expr:
    return binding.value


def _variables_of(value: relax.Expr) -> list[relax.Var]:
    return list(relax.analysis.free_vars(value)[:])


def call_of_operator(value: relax.Expr) -> tuple[str, list[relax.Expr]] | None:
    """Return the name of the function of the module that a value calls, and the arguments; None
    for other values. The trailing sizes of `R.vm.call_tir_dyn` are left out."""
    if not isinstance(value, Call):
        return None
    if isinstance(value.op, GlobalVar):
        return str(value.op.name_hint), value.args[:]
    if op_name(value) == "relax.vm.call_tir_dyn":
        callee, passed = value.args
        if isinstance(callee, GlobalVar) and isinstance(passed, relax.Tuple):
            tensors = [field for field in passed.fields if not isinstance(field, relax.ShapeExpr)]
            return str(callee.name_hint), tensors
    return None


def _is_view(call: Call) -> bool:
    name = call.op.global_symbol if isinstance(call.op, relax.ExternFunc) else call.op
    return str(getattr(name, "name", name)) in _VIEWS


def _has_offset(view: Call) -> bool:
    """Return whether an `R.memory.view` may begin behind the start of its tensor."""
    offset = view.args[3]
    is_none = isinstance(offset, relax.Tuple) and not len(offset.fields)
    return not is_none and int(getattr(offset, "value", -1)) != 0
