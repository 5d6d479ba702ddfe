"""The Relax main function becomes a PrimFunc that allocates and calls."""

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from support.lowered_main import lower_main
from support.main_calls import called
from usmp.aot_pipeline import lower_to_aot
from usmp.build_module import build
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR
from usmp.support.errors import UnsupportedModelError

F4 = ("x", (4,), "float32")


def main_of(mod):
    return lower_to_aot(mod)["__tvm_main__"]


def allocations(func, constant=False):
    found = []
    tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, lambda stmt: found.append(stmt)))
    return [a for a in found if (CONSTANT_DATA_ATTR.name in a.annotations) == constant]


def infos(func, what):
    return [(str(t.name), list(t.shape), str(t.dtype)) for t in func.attrs[f"{what}_tensors"]]


def results(mod, *inputs):
    compiled = build(mod)
    names = [str(t.info.name) for t in compiled.interface.inputs]
    return list(compiled.run(dict(zip(names, inputs, strict=True))).values())


def test_a_whole_main_function(model):
    mod = model(lambda b, x: relax.op.nn.softmax(b.emit(relax.op.nn.relu(x))), F4)
    func = main_of(mod).without_attr("input_tensors").without_attr("output_tensors")

    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def relu(a: T.handle("float32"), b: T.handle("float32")):
            T.evaluate(0)

        @T.prim_func(private=True)
        def softmax(a: T.handle("float32"), b: T.handle("float32")):
            T.evaluate(0)

        @T.prim_func(private=True)
        def main(x_ptr: T.handle("float32"), output_ptr: T.handle("float32")):
            x = T.decl_buffer((4,), "float32", data=x_ptr)
            output = T.decl_buffer((4,), "float32", data=output_ptr)
            between = T.alloc_buffer((4,), "float32")
            Expected.relu(x.data, between.data)
            Expected.softmax(between.data, output.data)

    assert called(func) == called(Expected["main"]) == ["relu", "softmax"]
    names = {v.name_hint: v for v in lower_to_aot(mod).functions}
    assert set(names) == {"__tvm_main__", "relu", "softmax"}
    tvm.ir.assert_structural_equal(func.body.seq[:3], Expected["main"].body.seq[:3], True)


def test_inputs_and_outputs_are_described(model):
    def body(b, x, y):
        total = b.emit(relax.op.add(x, relax.op.astype(y, "float32")))
        return relax.Tuple([total, b.emit(relax.op.nn.relu(total))])

    func = main_of(model(body, ("x", (2, 3), "float32"), ("y", (2, 3), "int8")))
    assert infos(func, "input") == [("x", [2, 3], "float32"), ("y", [2, 3], "int8")]
    assert infos(func, "output") == [
        ("output0", [2, 3], "float32"),
        ("output1", [2, 3], "float32"),
    ]
    assert [p.name for p in func.params] == ["x_ptr", "y_ptr", "output0_ptr", "output1_ptr"]


def test_output_names_are_not_those_of_inputs(model):
    func = main_of(model(lambda b, x: relax.op.exp(x), ("output", (4,), "float32")))
    assert infos(func, "output") == [("output_", [4], "float32")]


@pytest.mark.cc
def test_a_scalar_has_one_element(model):
    mod = model(lambda b, x: relax.op.sum(x), F4)
    assert infos(main_of(mod), "output") == [("output", [], "float32")]
    (result,) = results(mod, np.arange(4, dtype="float32"))
    assert result.shape == ()
    assert result == 6


@pytest.mark.cc
def test_an_output_that_is_an_input_is_copied(model):
    mod = model(lambda b, x: x, F4)
    assert called(main_of(mod)) == ["usmp_copy_0"]
    data = np.arange(4, dtype="float32")
    assert np.array_equal(results(mod, data)[0], data)


@pytest.mark.cc
def test_an_output_that_is_a_constant_is_copied(model):
    data = np.array([1.5, -2], "float32")
    mod = model(lambda b, x: relax.Tuple([relax.const(data), b.emit(relax.op.nn.relu(x))]), F4)
    first, second = results(mod, np.array([1, -1, 2, -2], "float32"))
    assert np.array_equal(first, data)
    assert np.array_equal(second, [1, 0, 2, 0])


@pytest.mark.cc
def test_an_output_that_is_a_view_of_an_input(model):
    def body(b, x):
        return relax.Tuple([b.emit(relax.op.reshape(x, (2, 2))), b.emit(relax.op.nn.relu(x))])

    data = np.array([1, -1, 2, -2], "float32")
    first, second = results(model(body, F4), data)
    assert np.array_equal(first, data.reshape(2, 2))
    assert np.array_equal(second, [1, 0, 2, 0])


@pytest.mark.cc
def test_one_tensor_returned_twice_and_as_a_view(model):
    def body(b, x):
        y = b.emit(relax.op.nn.relu(x))
        return relax.Tuple([y, y, b.emit(relax.op.reshape(y, (2, 2)))])

    mod = model(body, F4)
    outputs = results(mod, np.array([1, -1, 2, -2], "float32"))
    assert [o.reshape(-1).tolist() for o in outputs] == [[1, 0, 2, 0]] * 3
    assert [o.shape for o in outputs] == [(4,), (4,), (2, 2)]
    assert allocations(main_of(mod)) == []


@pytest.mark.cc
def test_a_result_that_later_operators_read(model):
    def body(b, x):
        y = b.emit(relax.op.nn.softmax(x))
        return relax.Tuple([b.emit(relax.op.nn.softmax(y)), y])

    mod = model(body, F4)
    assert allocations(main_of(mod)) == []
    second, first = results(mod, np.zeros(4, "float32"))
    assert first.tolist() == [0.25] * 4
    assert second.tolist() == [0.25] * 4


@pytest.mark.cc
def test_nested_tuples_are_laid_out_in_order(model):
    def body(b, x):
        y, z = b.emit(relax.op.nn.relu(x)), b.emit(relax.op.negative(x))
        return relax.Tuple([y, relax.Tuple([z, x])])

    outputs = results(model(body, F4), np.array([1, -1, 2, -2], "float32"))
    assert [o.tolist() for o in outputs] == [[1, 0, 2, 0], [-1, 1, -2, 2], [1, -1, 2, -2]]


@pytest.mark.cc
def test_an_operator_with_several_results(model):
    def body(b, x):
        parts = b.emit(relax.op.split(x, 2))
        return relax.op.subtract(
            b.emit(relax.TupleGetItem(parts, 1)), b.emit(relax.TupleGetItem(parts, 0))
        )

    mod = model(body, F4)
    (result,) = results(mod, np.array([1, 2, 10, 20], "float32"))
    assert result.tolist() == [9, 18]


def test_equal_constants_are_stored_once(model):
    data = np.array([1, 2, 3, 4], "float32")

    def body(b, x):
        y = b.emit(relax.op.nn.softmax(b.emit(relax.op.multiply(x, relax.const(data)))))
        return relax.op.multiply(y, relax.const(data.copy()))

    assert len(allocations(main_of(model(body, F4)), constant=True)) == 1


def test_constants_of_other_types_or_signs_are_not_equal(model):
    ones = np.zeros(4, "float32")

    def body(b, x, y):
        a = b.emit(relax.op.nn.softmax(b.emit(relax.op.add(x, relax.const(ones)))))
        c = b.emit(relax.op.nn.softmax(b.emit(relax.op.add(a, relax.const(-ones)))))
        d = b.emit(relax.op.add(y, relax.const(ones.astype("int32"))))
        return relax.Tuple([c, d])

    main = main_of(model(body, F4, ("y", (4,), "int32")))
    assert len(allocations(main, constant=True)) == 3


def test_buffers_of_one_name_are_told_apart(model):
    def body(b, x):
        for _ in range(4):
            x = b.emit(relax.op.nn.softmax(x))
        return x

    names = [a.buffer.name for a in allocations(main_of(model(body, F4)))]
    assert len(set(names)) == len(names) == 3


def test_sizes_without_a_bound():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
            with R.dataflow():
                y = R.exp(x)
                R.output(y)
            return y

    main = main_of(Module)
    (size,) = main.attrs["symbolic_sizes"]
    assert (size.name, size.lower_bound, size.upper_bound) == ("n", 1, None)
    (tensor,) = main.attrs["input_tensors"]
    assert (list(tensor.shape), [str(e) for e in tensor.symbolic_shape]) == ([1, 4], ["n", "4"])


@pytest.mark.parametrize("operator", ["relax.sort", "relax.cumsum"])
def test_an_operator_that_stays_relax_is_named(operator, model):
    apply = {"relax.sort": relax.op.sort, "relax.cumsum": lambda x: relax.op.cumsum(x, 0)}
    with pytest.raises(UnsupportedModelError, match=f"operator {operator} .*cannot be lowered"):
        lower_to_aot(model(lambda b, x: apply[operator](x), F4))


def test_a_number_as_output_is_refused(model):
    with pytest.raises(UnsupportedModelError, match=r"only tensors of static shape|no static C"):
        lower_main(model(lambda b, x: relax.ShapeExpr([4]), F4))
