"""Calls of kernels that state what they do: distances and effects; without a statement, as ever."""

from __future__ import annotations

import pytest
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.safe_distances import distance
from usmp.analysis.memory.facts import module_facts, shared_facts
from usmp.analysis.memory.side_effects import Effect
from usmp.objects.extern_kernel import ExternKernel, KernelArgument, SafeDistance, with_kernels
from usmp.planning.operator_order.read_graph import operator_graph

X = KernelArgument("x", 64, writes=False)
Y = KernelArgument("y", 32, reads=False)


@T.prim_func(private=True)
def caller(x: T.handle("int8"), y: T.handle("int8")):
    X = T.decl_buffer((64,), "int8", data=x)
    Y = T.decl_buffer((32,), "int8", data=y)
    T.evaluate(T.call_extern("int32", "scale", X.data, Y.data))


def stated(size: int | None, **facts: bool):
    distances = [] if size is None else [SafeDistance(0, 1, size)]
    return with_kernels(caller, ExternKernel("scale", [X, Y], distances, **facts))


@pytest.mark.parametrize("size", [0, 5, 32])
def test_the_stated_distance(size):
    assert distance(stated(size), "x", "y") == size


def test_pairs_of_which_nothing_is_stated():
    """The output does not overlap the input, as if nothing was stated; the input is not written."""
    assert distance(caller, "x", "y") == 32
    assert distance(stated(None), "x", "y") == 32
    assert [distance(func, "y", "x") for func in (caller, stated(0))] == [64, 0]


def test_a_call_through_another_prim_func():
    """Where the arguments are views, the distance moves with them."""

    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def call_scale(x: T.handle("int8"), y: T.handle("int8")):
            T.evaluate(T.call_extern("int32", "scale", x, y))

        @T.prim_func(private=True)
        def main(a: T.handle("int8"), b: T.handle("int8")):
            A = T.decl_buffer((80,), "int8", data=a)
            B = T.decl_buffer((32,), "int8", data=b)
            Mod.call_scale(T.address_of(A[16]), B.data)

    assert distance(Mod["main"], "a", "b", Mod) == 32
    kernel = ExternKernel("scale", [X, Y], [SafeDistance(0, 1, 20)])
    variable = Mod.get_global_var("call_scale")
    mod = IRModule({**Mod.functions, variable: with_kernels(Mod["call_scale"], kernel)})
    assert distance(mod["main"], "a", "b", mod) == 20 - 16


def test_accesses_before_and_after_the_call_count():
    @T.prim_func(private=True)
    def reads_again(x: T.handle("int8"), y: T.handle("int8"), z: T.handle("int8")):
        X = T.decl_buffer((64,), "int8", data=x)
        Y = T.decl_buffer((32,), "int8", data=y)
        Z = T.decl_buffer((1,), "int8", data=z)
        T.evaluate(T.call_extern("int32", "scale", x, Y.data))
        Z[0] = X[7]

    kernel = ExternKernel("scale", [X, Y], [SafeDistance(0, 1, 0)])
    assert distance(with_kernels(reads_again, kernel), "x", "y") == 32 - 7


def test_a_call_in_a_loop():
    """Each iteration reads 64 bytes more, and writes 32."""

    @T.prim_func(private=True)
    def rows(x: T.handle("int8"), y: T.handle("int8")):
        X = T.decl_buffer((256,), "int8", data=x)
        Y = T.decl_buffer((128,), "int8", data=y)
        for i in range(4):
            T.evaluate(
                T.call_extern("int32", "scale", T.address_of(X[i * 64]), T.address_of(Y[i * 32]))
            )

    assert distance(rows, "x", "y") == 128
    kernel = ExternKernel("scale", [X, Y], [SafeDistance(0, 1, 3)])
    assert distance(with_kernels(rows, kernel), "x", "y") == 3


def test_arguments_of_which_nothing_is_stated():
    """They may be accessed before and after what the kernel states."""

    @T.prim_func(private=True)
    def more(x: T.handle("int8"), y: T.handle("int8"), z: T.handle("int8")):
        X = T.decl_buffer((64,), "int8", data=x)
        Y = T.decl_buffer((32,), "int8", data=y)
        Z = T.decl_buffer((8,), "int8", data=z)
        T.evaluate(T.call_extern("int32", "scale", X.data, Y.data, Z.data))

    func = with_kernels(more, ExternKernel("scale", [X, Y], [SafeDistance(0, 1, 0)]))
    pairs = [("x", "y"), ("z", "y"), ("x", "z")]
    assert [distance(func, *pair) for pair in pairs] == [0, 32, 8]


def test_a_call_with_less_arguments_than_stated():
    kernel = ExternKernel("scale", [X, Y, Y])
    with pytest.raises(ValueError) as caught:
        distance(with_kernels(caller, kernel), "x", "y")
    assert str(caught.value) == 'extern kernel "scale" states 3 arguments; main calls it with 2'


def test_facts_are_those_of_the_statement():
    """Two PrimFuncs of the same body that state different things."""
    with shared_facts():
        assert [distance(stated(size), "x", "y") for size in (0, 7, None)] == [0, 7, 32]


@pytest.mark.parametrize(
    ("facts", "effect"),
    [
        ({}, Effect.UNKNOWN),
        ({"can_fail": False}, Effect.UNKNOWN),
        ({"keeps_state": False}, Effect.UNKNOWN),
        ({"can_fail": False, "keeps_state": False}, Effect.NONE),
    ],
)
def test_effects(facts, effect):
    mod = IRModule({"main": stated(None, **facts)})
    assert module_facts(mod).of("main").effect == effect
    assert module_facts(IRModule({"main": caller})).of("main").effect == Effect.UNKNOWN


@pytest.mark.parametrize("is_free", [False, True])
def test_kernels_without_effects_may_change_places(is_free):
    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def call_scale(x: T.handle("int8"), y: T.handle("int8")):
            T.evaluate(T.call_extern("int32", "scale", x, y))

        @T.prim_func(private=True)
        def __tvm_main__(x: T.handle("int8"), a: T.handle("int8"), b: T.handle("int8")):
            Mod.call_scale(x, a)
            Mod.call_scale(x, b)

    kernel = ExternKernel(
        "scale", [X, Y], [SafeDistance(0, 1, 0)], can_fail=False, keeps_state=False
    )
    mod = Mod
    if is_free:
        variable = Mod.get_global_var("call_scale")
        mod = IRModule({**Mod.functions, variable: with_kernels(Mod["call_scale"], kernel)})
    graph = operator_graph(mod, preserve_inputs=False, overlap=False)
    assert (graph is not None) == is_free
    assert graph is None or [call.after for call in graph.calls] == [(), ()]


def test_c_declares_what_a_kernel_reads_as_without_the_statement():
    """Of the PrimFunc that calls it, and of the one that calls that: else, types would differ."""

    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def call_scale(x: T.handle("int8"), y: T.handle("int8")):
            View = T.decl_buffer((64,), "int8", data=x)
            T.evaluate(T.call_extern("int32", "scale", View.data, y))

        @T.prim_func(private=True)
        def main(a: T.handle("int8"), b: T.handle("int8")):
            Mod.call_scale(a, b)

    variable = Mod.get_global_var("call_scale")
    kernel = ExternKernel("scale", [X, Y])
    mod = IRModule({**Mod.functions, variable: with_kernels(Mod["call_scale"], kernel)})
    for name in ("call_scale", "main"):
        expected = module_facts(Mod).of(name).written_parameters
        assert module_facts(mod).of(name).written_parameters == expected == {0, 1}


def test_a_prim_func_of_the_module_is_no_extern_kernel():
    """Its body says what it does; a statement could say something else."""

    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def scale(x: T.handle("int8"), y: T.handle("int8")):
            X = T.decl_buffer((64,), "int8", data=x)
            Y = T.decl_buffer((32,), "int8", data=y)
            for i in range(32):
                Y[i] = X[63 - i]

    variable = Mod.get_global_var("scale")
    mod = IRModule({variable: Mod["scale"], "caller": stated(0)})
    with pytest.raises(ValueError) as caught:
        distance(mod["caller"], "x", "y", mod)
    assert str(caught.value) == (
        'extern kernel "scale", which caller states, is a PrimFunc of the module, whose body says '
        "what it does; state nothing of it"
    )
