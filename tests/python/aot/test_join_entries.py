from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.aot.join_entries import join_entries
from usmp.objects.attributes.compared import Compared, compared_of, with_compared


@I.ir_module
class A:
    @T.prim_func(private=True)
    def double(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
        x = T.decl_buffer((4,), "int8", data=x_ptr)
        y = T.decl_buffer((4,), "int8", data=y_ptr)
        for i in range(4):
            y[i] = x[i] + x[i]

    @T.prim_func(private=True)
    def reverse(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
        x = T.decl_buffer((4,), "int8", data=x_ptr)
        y = T.decl_buffer((4,), "int8", data=y_ptr)
        kept = T.alloc_buffer((4,), "int8")
        for i in range(4):
            kept[i] = x[i]
        for i in range(4):
            y[3 - i] = kept[i]

    @T.prim_func(private=True)
    def both(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
        A.double(x_ptr, y_ptr)
        A.reverse(x_ptr, y_ptr)

    @T.prim_func(private=True)
    def __tvm_main__(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
        A.double(x_ptr, y_ptr)
        A.both(x_ptr, y_ptr)


@I.ir_module
class B:
    """The same operators under other names, and another one under a name of A."""

    @T.prim_func(private=True)
    def twice(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
        a = T.decl_buffer((4,), "int8", data=x_ptr)
        b = T.decl_buffer((4,), "int8", data=y_ptr)
        for j in range(4):
            b[j] = a[j] + a[j]

    @T.prim_func(private=True)
    def double(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
        x = T.decl_buffer((5,), "int8", data=x_ptr)
        y = T.decl_buffer((5,), "int8", data=y_ptr)
        for i in range(5):
            y[i] = x[i] + x[i]

    @T.prim_func(private=True)
    def turn(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
        x = T.decl_buffer((4,), "int8", data=x_ptr)
        y = T.decl_buffer((4,), "int8", data=y_ptr)
        kept = T.alloc_buffer((4,), "int8")
        for i in range(4):
            kept[i] = x[i]
        for i in range(4):
            y[3 - i] = kept[i]

    @T.prim_func(private=True)
    def pair(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
        B.twice(x_ptr, y_ptr)
        B.turn(x_ptr, y_ptr)

    @T.prim_func(private=True)
    def __tvm_main__(x_ptr: T.handle("int8"), y_ptr: T.handle("int8")):
        B.double(x_ptr, y_ptr)
        B.pair(x_ptr, y_ptr)


def joined(**attrs):
    return join_entries(IRModule({}).with_attrs(attrs), {"a": A, "b": B})


def called(mod, name):
    return [stmt.value.op.name_hint for stmt in mod[name].body.seq]


def named(mod):
    return sorted(str(variable.name_hint) for variable in mod.functions)


def test_equal_operators_are_one_and_others_have_names_of_their_own():
    mod = joined()
    mains = ["__tvm_a__", "__tvm_b__"]
    assert named(mod) == [*mains, "both", "double", "double_1", "reverse"]
    assert called(mod, "__tvm_a__") == ["double", "both"]
    assert called(mod, "__tvm_b__") == ["double_1", "both"]
    assert called(mod, "both") == ["double", "reverse"]
    assert int(mod["double_1"].body.seq[2].extent) == 5


def test_entries_that_may_run_at_once_do_not_share_what_allocates():
    mod = joined(concurrent_entries=[["a", "b"]])
    assert called(mod, "__tvm_b__") == ["double_1", "pair"]
    # Code without memory of its own is still shared.
    assert called(mod, "pair") == ["double", "turn"]
    assert called(mod, "both") == ["double", "reverse"]


def test_attributes_of_the_module_stay_and_those_of_entries_are_joined():
    a = A.with_attrs(
        {
            "float_operators": {"add": 1, "mul": 2},
            "pruned_channels": {"channels": 1, "macs": 5},
        }
    )
    b = B.with_attrs(
        {
            "float_operators": {"add": 3},
            "pruned_channels": {"channels": 2, "macs": 10},
        }
    )
    b = with_compared(b, [Compared("order", "as imported")])
    mod = join_entries(IRModule({}).with_attr("executor", "kept"), {"a": a, "b": b})
    assert list(mod.attrs["entries"]) == ["a", "b"]
    assert mod.attrs["executor"] == "kept"
    assert dict(mod.attrs["float_operators"].items()) == {"add": 4, "mul": 2}
    assert dict(mod.attrs["pruned_channels"].items()) == {"channels": 3, "macs": 15}
    assert compared_of(mod) == [Compared("order", "as imported", entry="b")]
