"""What is read of the calls of a Relax function."""

from __future__ import annotations

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from usmp.analysis.relax_functions.function_memory import TensorArgument, is_in_host_memory
from usmp.analysis.relax_functions.read_function import read_function


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def op(x: T.handle, y: T.handle):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        a: R.Tensor((8,), "float32") = R.builtin.alloc_tensor(
            R.shape([8]), R.dtype("float32"), 0, R.str("global")
        )
        b: R.Tensor((8,), "float32") = R.builtin.alloc_tensor(
            R.shape([8]), R.dtype("float32"), 0, R.str("global")
        )
        _ = cls.op(x, a)
        whole = R.reshape(a, R.shape([2, 4]))
        part = R.memory.view(a, R.shape([4]), R.dtype("float32"), R.prim_value(16))
        _1 = cls.op(whole, b)
        _2 = cls.op(part, b)
        c: R.Tensor((8,), "float32") = R.builtin.alloc_tensor(
            R.shape([8]), R.dtype("float32"), 0, R.str("global")
        )
        _3 = R.call_packed("library", b, c, ty_args=(R.Tuple,))
        _4: R.Tensor((8,), "float32") = R.builtin.alloc_tensor(
            R.shape([8]), R.dtype("float32"), 1, R.str("global")
        )
        return c


MEMORY = read_function(Module, "main", is_in_host_memory)


def test_calls_have_the_tensors_that_they_get():
    def tensor(*numbers, whole=None):
        return TensorArgument(frozenset(numbers), whole)

    assert [(call.callee, call.arguments) for call in MEMORY.calls] == [
        ("op", (tensor(), tensor(0, whole=0))),
        ("op", (tensor(0, whole=0), tensor(1, whole=1))),
        ("op", (tensor(0), tensor(1, whole=1))),
    ]


def test_tensors_that_other_functions_get_are_given_away():
    assert [each.is_given_away for each in MEMORY.tensors] == [False, True, True]
    assert [each.is_output for each in MEMORY.tensors] == [False, False, True]


def test_a_tensor_is_used_when_it_is_first_passed():
    positions = [call.position for call in MEMORY.calls]
    assert [each.first_use for each in MEMORY.tensors[:2]] == positions[:2]
    assert MEMORY.tensors[1].start < MEMORY.tensors[1].first_use


def test_another_device_is_not_managed():
    assert len(MEMORY.tensors) == 3


def test_tensors_of_no_axis_are_managed_and_those_of_parts_of_bytes_or_any_number_are_not():
    @I.ir_module(check_well_formed=False)  # `_any` is no shape that the check takes.
    class Mod:
        @R.function
        def main(shape: R.Shape(ndim=-1)) -> R.Tensor((), "float32"):
            R.func_attr({"relax.force_pure": True})
            scalar: R.Tensor((), "float32") = R.builtin.alloc_tensor(
                R.shape([]), R.dtype("float32"), 0, R.str("global")
            )
            _halves: R.Tensor((8,), "int4") = R.builtin.alloc_tensor(
                R.shape([8]), R.dtype("int4"), 0, R.str("global")
            )
            _any: R.Tensor(ndim=-1, dtype="float32") = R.builtin.alloc_tensor(
                shape, R.dtype("float32"), 0, R.str("global")
            )
            return scalar

    memory = read_function(Mod, "main", is_in_host_memory)
    assert [(each.name, each.ndim) for each in memory.tensors] == [("main.scalar", 0)]
    assert memory.num_unmanaged == 2
