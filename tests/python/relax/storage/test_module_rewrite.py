"""Modules whose tensors are in storages: what is allocated, and what PrimFuncs get."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tvm import relax, tirx
from tvm.ir import Call, IRModule
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from usmp.analysis.relax_functions.function_memory import CallSite, TensorArgument
from usmp.analysis.relax_functions.read_function import read_function
from usmp.relax.storage.function_plan import FunctionPlan, Memory, MemoryPlan
from usmp.relax.storage.module_rewrite import FunctionRewriter, shared_parameters, with_offsets
from usmp.relax.storage.operator_variants import SharedParameter
from usmp.tir.nodes import nodes_of

HOST, OTHER = Memory(0, "global"), Memory(1, "global")


def planned(offsets, sizes, in_place=(), where=HOST) -> FunctionPlan:
    return FunctionPlan({where: MemoryPlan(256, 256, True, offsets)}, sizes, frozenset(in_place))


def shared(places, *wholes, dtypes=("float32",) * 4) -> tuple[SharedParameter, ...]:
    """What parameters share memory, if tensors have these (memory, offset, size)."""
    plans: dict[Memory, MemoryPlan] = {}
    for number, (where, offset, _) in enumerate(places):
        plans.setdefault(where, MemoryPlan(256, 0, False, {})).offsets[number] = offset
    plan = FunctionPlan(plans, {n: size for n, (_, _, size) in enumerate(places)})
    arguments = tuple(
        TensorArgument(frozenset() if n is None else frozenset([n]), n) for n in wholes
    )
    call = CallSite(0, relax.Var("_", relax.AnyType()), "f", arguments)
    func = SimpleNamespace(params=[SimpleNamespace(dtype=dtype) for dtype in dtypes])
    return shared_parameters(call, plan, func)


@pytest.mark.parametrize(
    ("places", "wholes", "expected"),
    [
        ([(HOST, 0, 64), (HOST, 64, 64)], (0, 1), ()),
        # The output comes last of those that begin at one byte.
        ([(HOST, 0, 64), (HOST, 0, 64)], (0, 1), (SharedParameter(1, ((0, 0),)),)),
        ([(HOST, 0, 64), (HOST, 63, 64)], (0, 1), (SharedParameter(0, ((1, 15),)),)),
        ([(HOST, 32, 64), (HOST, 0, 64)], (0, 1), (SharedParameter(1, ((0, 8),)),)),
        ([(HOST, 0, 128), (HOST, 32, 32)], (0, 1), (SharedParameter(0, ((1, 8),)),)),
        ([(HOST, 32, 64), (OTHER, 0, 64)], (0, 1), ()),
        # One that is given twice, alone and with another one.
        ([(HOST, 0, 64), (HOST, 64, 64)], (0, 0, 1), ()),
        ([(HOST, 0, 64), (HOST, 0, 64)], (0, 0, 1), (SharedParameter(2, ((0, 0), (1, 0))),)),
        # A third that meets two which do not meet each other.
        (
            [(HOST, 0, 64), (HOST, 64, 64), (HOST, 32, 64)],
            (0, 1, 2),
            (SharedParameter(0, ((1, 16), (2, 8))),),
        ),
        (
            [(HOST, 0, 64), (HOST, 64, 64), (HOST, 64, 64), (HOST, 0, 64)],
            (0, 1, 2, 3),
            (SharedParameter(2, ((1, 0),)), SharedParameter(3, ((0, 0),))),
        ),
        ([(HOST, 0, 64), (HOST, 0, 64)], (0, None), ()),
        ([(HOST, 0, 64), (HOST, 0, 64)], (None, 1, 0), (SharedParameter(2, ((1, 0),)),)),
    ],
)
def test_parameters_of_tensors_that_share_bytes_are_one(places, wholes, expected):
    found = shared(places, *wholes)
    assert sorted(found, key=lambda each: each.root) == list(expected)


def test_distances_are_in_elements():
    places = [(HOST, 64, 64), (HOST, 32, 64)]
    for dtype, distance in (("int8", 32), ("float32", 8), ("float64", 4)):
        assert shared(places, 0, 1, dtypes=[dtype] * 2) == (SharedParameter(1, ((0, distance),)),)


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def double(x: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("b"):
                v = T.axis.spatial(16, i)
                y[v] = x[v] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor((16,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((16,), "float32"):
        cls = Module
        a: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(R.shape([16]), "float32", 0)
        _ = cls.double(x, a)
        b: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(R.shape([16]), "float32", 0)
        _1 = cls.double(a, b)
        if c:
            d: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(R.shape([16]), "float32", 0)
            _2 = cls.double(b, d)
            r: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(R.shape([16]), "float32", 0)
            _3 = cls.double(d, r)
            result = r
        else:
            result = x
        return result


def rewritten(plan: FunctionPlan, mod: IRModule = Module, sizes=None) -> IRModule:
    memory = read_function(mod, "main", lambda _: True)
    rewriter = FunctionRewriter(with_offsets(mod, {"main": (memory, plan)}))
    function = rewriter.rewrite("main", memory, plan, sizes or {})
    changed = rewriter.mod
    changed.update_func(changed.get_global_var("main"), function)
    return changed


def calls(mod: IRModule) -> list[tuple]:
    """What `main` calls, with the numbers that it gives to allocations."""
    found = []
    for call in nodes_of(mod["main"].body, Call):
        name = str(getattr(call.op, "name", None) or call.op.name_hint).removeprefix("relax.")
        if name == "memory.alloc_storage":
            found.append((name, int(call.args[0].values[0]), int(call.args[1].value)))
        elif name == "memory.alloc_tensor":
            found.append((name, int(call.args[1].value)))
        elif name == "builtin.alloc_tensor":
            found.append((name,))
        else:
            found.append((name, len(call.args)))
    return found


def test_tensors_become_parts_of_a_storage():
    """Tensor 1 lies over tensor 0, tensor 2 beside them; the output is left to TVM."""
    plan = planned({0: 0, 1: 0, 2: 64}, {0: 64, 1: 64, 2: 64}, {1})
    changed = rewritten(plan)
    assert sorted(calls(changed)) == sorted(
        [
            ("memory.alloc_storage", 256, 0),
            ("memory.alloc_tensor", 0),
            ("double", 2),
            ("memory.alloc_tensor", 0),
            ("double_in_place", 1),
            ("memory.alloc_tensor", 64),
            ("double", 2),
            ("builtin.alloc_tensor",),
            ("double", 2),
        ]
    )
    [block] = changed["main"].body.blocks
    assert block.bindings[0].value.op.name == "relax.memory.alloc_storage"
    assert "global_symbol" in changed["double"].attrs
    assert "global_symbol" not in changed["double_in_place"].attrs


def test_storage_is_allocated_before_a_block_of_dataflow():
    @I.ir_module
    class Dataflow:
        @R.function(pure=False)
        def main(x: R.Tensor((16,), "float32")):
            with R.dataflow():
                a: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(R.shape([16]), "float32", 0)
                b: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(R.shape([16]), "float32", 0)
                R.output(a, b)
            return (a, b)

    first, second = rewritten(planned({0: 64}, {0: 64}), Dataflow)["main"].body.blocks
    assert type(first) is relax.BindingBlock
    assert type(second) is relax.DataflowBlock
    assert [binding.value.op.name for binding in (*first.bindings, *second.bindings)] == [
        "relax.memory.alloc_storage",
        "relax.memory.alloc_tensor",
        "relax.builtin.alloc_tensor",
    ]


def test_calls_with_sizes_share_memory_as_well():
    @I.ir_module
    class Sizes:
        @T.prim_func(s_tir=True)
        def double(x: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32"), n: T.int64):
            for i in range(16):
                with T.sblock("b"):
                    v = T.axis.spatial(16, i)
                    y[v] = x[v] * T.float32(2) + T.cast(n, "float32")

        @R.function(pure=False)
        def main(x: R.Tensor((16,), "float32"), s: R.Shape(["n"])):
            n = T.int64()
            cls = Sizes
            a: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(R.shape([16]), "float32", 0)
            b: R.Tensor((16,), "float32") = R.builtin.alloc_tensor(R.shape([16]), "float32", 0)
            _ = R.vm.call_tir_dyn(cls.double, (x, a, R.shape([n])))
            _1 = R.vm.call_tir_dyn(cls.double, (a, b, R.shape([n])))
            return b

    changed = rewritten(planned({0: 0, 1: 0}, {0: 64, 1: 64}, {1}), Sizes)
    fields = [
        (call.args[0].name_hint, len(call.args[1].fields))
        for call in nodes_of(changed["main"].body, Call)
        if getattr(call.op, "name", "") == "relax.vm.call_tir_dyn"
    ]
    assert sorted(fields) == [("double", 3), ("double_in_place", 2)]


def test_each_memory_is_a_storage_of_its_device():
    plan = FunctionPlan(
        {HOST: MemoryPlan(64, 64, True, {0: 0}), OTHER: MemoryPlan(128, 64, True, {1: 64})},
        {0: 64, 1: 64},
    )
    storages = [each for each in calls(rewritten(plan)) if each[0] == "memory.alloc_storage"]
    assert sorted(storages) == [("memory.alloc_storage", 64, 0), ("memory.alloc_storage", 128, 1)]


def test_a_function_without_places_stays_as_it_is():
    assert rewritten(FunctionPlan())["main"].same_as(Module["main"])


def test_equal_calls_share_a_primfunc():
    plan = planned({0: 0, 1: 0, 2: 0}, {0: 64, 1: 64, 2: 64}, {1, 2})
    names = [name for name, *_ in calls(rewritten(plan)) if name.startswith("double")]
    assert sorted(names) == ["double", "double", "double_in_place", "double_in_place"]


def test_a_call_of_tensors_that_share_no_bytes_stays():
    plan = planned({0: 0, 1: 64, 2: 128}, {0: 64, 1: 64, 2: 64})
    assert ("double_in_place", 1) not in calls(rewritten(plan))
    assert ("double", 2) in calls(rewritten(plan))


def offsets(mod: IRModule) -> list[int | None]:
    """By parameter of `double`, what its begin is a multiple of; None if it is at the pointer."""
    params = mod["double"].params
    return [
        int(each.ty.offset_factor) if isinstance(each.ty.elem_offset, tirx.Var) else None
        for each in params
    ]


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ({0: 0, 1: 0}, [None, None]),
        # Tensor 0 is an output of the first call, and an input of the second.
        ({0: 64, 1: 0}, [16, 16]),
        ({1: 64}, [16, 16]),
        ({3: 64}, [None, 16]),
        ({3: 0}, [None, None]),
        ({}, [None, None]),
    ],
)
def test_parameters_take_tensors_that_begin_inside_a_storage(places, expected):
    memory = read_function(Module, "main", lambda _: True)
    plan = planned(places, dict.fromkeys(places, 64))
    assert offsets(with_offsets(Module, {"main": (memory, plan)})) == expected


@pytest.mark.parametrize(
    ("shape", "dtype", "factor"),
    [
        ((16,), "float32", 16),
        ((2, 2), "float32", 4),
        ((3,), "float32", 2),
        ((1,), "float32", 1),
        ((1,), "int8", 1),
        ((100,), "int8", 64),
        ((100,), "float64", 8),
        ((tirx.Var("n", "int64"), 16), "float32", 1),
        ((), "float64", 1),
    ],
)
def test_the_begin_of_a_parameter_is_aligned_as_its_tensor_is(shape, dtype, factor):
    param = tirx.decl_buffer(shape, dtype, "x")
    func = tirx.PrimFunc([param], tirx.Evaluate(0))
    mod = IRModule({"double": func})
    arguments = (TensorArgument(frozenset([0]), 0),)
    call = CallSite(0, relax.Var("_", relax.AnyType()), "double", arguments)
    memory = SimpleNamespace(calls=[call])
    assert offsets(with_offsets(mod, {"main": (memory, planned({0: 64}, {0: 64}))})) == [factor]
