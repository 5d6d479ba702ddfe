"""The rewrite of a module to planned storages, and of its PrimFuncs to buffers with offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm import relax, s_tir, tirx
from tvm.ir import Call, GlobalVar, IRModule, TupleType

from usmp.analysis.relax_functions.function_memory import CallSite, FunctionMemory
from usmp.relax.storage.check_sizes import size_check
from usmp.relax.storage.function_plan import FunctionPlan, Memory
from usmp.relax.storage.operator_variants import (
    SharedParameter,
    with_elem_offsets,
    with_shared_parameters,
)
from usmp.relax.storage.tensor_bytes import alignment_of
from usmp.tir.dtypes import item_bytes

_STORAGE_DTYPE = "uint8"


def with_offsets(
    mod: IRModule, planned: Mapping[str, tuple[FunctionMemory, FunctionPlan]]
) -> IRModule:
    """Rewrite PrimFuncs to take tensors at nonzero offsets in their storages.

    Parameters
    ----------
    mod
        the module.
    planned
        name of a Relax function -> its tensors and their plan.
    """
    parameters: dict[str, set[int]] = {}
    for memory, plan in planned.values():
        for call in memory.calls:
            for index, argument in enumerate(call.arguments):
                places = [plan.place(number) for number in argument.refers]
                if any(place is not None and place[1] for place in places):
                    parameters.setdefault(call.callee, set()).add(index)
    changed = IRModule(mod.functions, attrs=mod.attrs, global_infos=mod.global_infos)
    for name, indices in parameters.items():
        func = mod[name]
        factors = {index: _offset_factor(func.params[index]) for index in sorted(indices)}
        changed.update_func(mod.get_global_var(name), with_elem_offsets(func, factors))
    return changed


def _offset_factor(param: tirx.Var) -> int:
    """Return a number of elements that divides the offset of each tensor of a parameter."""
    element = item_bytes(str(param.dtype))
    size = element
    for extent in param.shape[:]:
        if not isinstance(extent, tirx.IntImm):
            return 1
        size *= int(extent)
    return max(alignment_of(size) // element, 1)


class FunctionRewriter:
    """A rewriter of the functions of a module, one by one.

    Parameters
    ----------
    mod
        a module after `with_offsets`; PrimFuncs for tensors that share bytes are added.
    """

    def __init__(self, mod: IRModule) -> None:
        self._builder = relax.BlockBuilder(mod)
        self._shared: dict[tuple[str, tuple[SharedParameter, ...]], GlobalVar] = {}

    @property
    def mod(self) -> IRModule:
        """The module with the PrimFuncs that were added so far."""
        return self._builder.get()

    def rewrite(
        self,
        name: str,
        memory: FunctionMemory,
        plan: FunctionPlan,
        sizes: Mapping[tirx.Var, tuple[int, int]],
    ) -> relax.Function:
        """Return a function whose tensors have their planned offsets.

        ::

            storage = R.memory.alloc_storage(R.shape([256]), 0, R.str("global"), R.dtype("uint8"))
            ...
            alloc = R.builtin.alloc_tensor(R.shape([16]), R.dtype("float32"), 0, R.str("global"))
            # becomes
            alloc = R.memory.alloc_tensor(storage, 64, R.shape([16]), R.dtype("float32"), 0)

        A call whose tensors share bytes passes only one of them, to another PrimFunc. First, a
        PrimFunc checks that `sizes` are within their bounds.
        """
        function = self.mod[name]
        storages = {where: relax.Var("storage", relax.AnyType()) for where in plan.plans}
        first = [
            relax.VarBinding(variable, self._allocation(where, plan.plans[where].bytes))
            for where, variable in storages.items()
        ]
        if not first:
            return function
        if sizes:
            check = self._builder.add_func(size_check(name, sizes), f"{name}_check_sizes")
            call = Call(check, [relax.prim_value(size) for size in sizes])
            first = [relax.VarBinding(relax.Var("_", TupleType([])), call), *first]
        body = _Body(self, memory, plan, storages).sequence(function.body)
        blocks = body.blocks[:]
        if blocks and not isinstance(blocks[0], relax.DataflowBlock):
            blocks[0] = relax.BindingBlock([*first, *blocks[0].bindings[:]])
        else:
            blocks = [relax.BindingBlock(first), *blocks]
        return relax.Function(
            function.params,
            relax.SeqExpr(blocks, body.body),
            function.ret_ty,
            function.is_pure,
            function.attrs,
        )

    def normalize(self, call: Call) -> Call:
        """Return the call with its type."""
        return self._builder.normalize(call)

    def _allocation(self, where: Memory, size: int) -> Call:
        return self.normalize(
            relax.op.memory.alloc_storage(
                relax.ShapeExpr([size]), where.device_index, where.scope, _STORAGE_DTYPE
            )
        )

    def operator(self, name: str, shared: tuple[SharedParameter, ...]) -> GlobalVar:
        """Return the variant of the PrimFunc `name` whose parameters share memory."""
        key = name, shared
        if key not in self._shared:
            # With new variables, because two functions must not share any.
            func = s_tir.renew_defs(with_shared_parameters(self.mod[name], shared))
            if func.attrs and "global_symbol" in func.attrs:
                func = func.without_attr("global_symbol")
            self._shared[key] = self._builder.add_func(func, f"{name}_in_place")
        return self._shared[key]


class _Body:
    """A rewriter of the bindings of one function."""

    def __init__(
        self,
        rewriter: FunctionRewriter,
        memory: FunctionMemory,
        plan: FunctionPlan,
        storages: Mapping[Memory, relax.Var],
    ) -> None:
        self.rewriter = rewriter
        self.plan = plan
        self.storages = storages
        self.numbers = memory.numbers
        self.calls = {call.variable: call for call in memory.calls}

    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        blocks = [
            type(block)([self.binding(binding) for binding in block.bindings[:]])
            for block in body.blocks[:]
        ]
        return relax.SeqExpr(blocks, body.body)

    def binding(self, binding: relax.Binding) -> relax.Binding:
        if not isinstance(binding, relax.VarBinding):
            return binding
        value = self.value(binding.var, binding.value)
        return binding if value is binding.value else relax.VarBinding(binding.var, value)

    def value(self, variable: relax.Var, value: Any) -> Any:
        if isinstance(value, relax.If):
            branches = map(self.sequence, (value.true_branch, value.false_branch))
            return self.rewriter.normalize(relax.If(value.cond, *branches))
        number = self.numbers.get(variable)
        place = None if number is None else self.plan.place(number)
        if place is not None:
            shape, dtype, device, _ = value.args[:]
            storage, offset = self.storages[place[0]], relax.prim_value(place[1])
            return self.rewriter.normalize(
                relax.op.memory.alloc_tensor(storage, offset, shape, dtype.value, device)
            )
        if variable in self.calls:
            return self.call(self.calls[variable], value)
        return value

    def call(self, call: CallSite, value: Call) -> Call:
        if all(argument.whole not in self.plan.in_place for argument in call.arguments):
            return value
        shared = shared_parameters(call, self.plan, self.rewriter.mod[call.callee])
        if not shared:
            return value
        callee = self.rewriter.operator(call.callee, shared)
        views = {index for parameter in shared for index, _ in parameter.views}
        if isinstance(value.op, GlobalVar):
            args = [arg for index, arg in enumerate(value.args[:]) if index not in views]
            return self.rewriter.normalize(Call(callee, args, value.attrs, value.ty_args))
        # R.vm.call_tir_dyn takes a tuple that begins with the tensors.
        fields = [arg for index, arg in enumerate(value.args[1].fields) if index not in views]
        args = [callee, relax.Tuple(fields)]
        return self.rewriter.normalize(Call(value.op, args, value.attrs, value.ty_args))


def shared_parameters(
    call: CallSite, plan: FunctionPlan, func: tirx.PrimFunc
) -> tuple[SharedParameter, ...]:
    """Return the parameters of a call that get tensors that share bytes."""
    places = {}
    for index, argument in enumerate(call.arguments):
        place = None if argument.whole is None else plan.place(argument.whole)
        if place is not None and argument.whole is not None:
            start = place[1]
            places[index] = place[0], start, start + plan.sizes[argument.whole], argument.whole
    groups: list[list[int]] = []
    for index, (where, start, stop, number) in places.items():
        meeting = [
            group
            for group in groups
            if any(_meet(places[other], (where, start, stop, number)) for other in group)
        ]
        joined = [index, *(member for group in meeting for member in group)]
        groups = [*(group for group in groups if group not in meeting), joined]
    return tuple(
        _shared(sorted(group), {index: places[index][1] for index in group}, func)
        for group in groups
        if len({places[index][3] for index in group}) > 1
    )


def _meet(one: tuple[Memory, int, int, int], other: tuple[Memory, int, int, int]) -> bool:
    is_one_place = one[0] == other[0] and max(one[1], other[1]) < min(one[2], other[2])
    return one[3] == other[3] or is_one_place


def _shared(
    group: Sequence[int], starts: Mapping[int, int], func: tirx.PrimFunc
) -> SharedParameter:
    # The root begins first; among several, take the last parameter, an output.
    root = min(group, key=lambda index: (starts[index], -index))
    element = item_bytes(str(func.params[root].dtype))
    views = [(index, (starts[index] - starts[root]) // element) for index in group if index != root]
    return SharedParameter(root, tuple(views))
