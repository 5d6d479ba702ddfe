"""Operators keep almost no scratch, compute nothing twice, and give the same bits."""

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.script import tirx as T

from support.counted_stores import is_update, stores
from usmp.analysis import safe_overlap
from usmp.aot.transform.lower_operators import LowerOperators
from usmp.aot.transform.schedule_operators import ScheduleOperators
from usmp.aot_pipeline import lower_to_aot
from usmp.build_module import build
from usmp.relax.transform.fusion.fuse_operators import FuseOperators


def lower(func):
    return LowerOperators()(ScheduleOperators()(IRModule({"f": func})))["f"]


def scratch(func):
    """Names and numbers of elements of the planned allocations."""
    found = []
    tvm_ffi.structural_walk(func.body, (tirx.AllocBuffer, lambda stmt: found.append(stmt.buffer)))
    return {b.name: int(b.shape[0]) for b in found if b.scope() == "global"}


def conv_bias_relu(random_array, strides=(1, 1)):
    def body(b, x):
        weights = relax.const(random_array(3, 3, 3, 8))
        y = relax.op.nn.conv2d(
            x,
            weights,
            strides=strides,
            padding=(1, 1, 1, 1),
            data_layout="NHWC",
            kernel_layout="HWIO",
        )
        y = b.emit(relax.op.add(b.emit(y), relax.const(random_array(1, 1, 1, 8))))
        return relax.op.nn.relu(y)

    return body


def depthwise(b, x, random_array):
    y = relax.op.nn.conv2d(
        x,
        relax.const(random_array(3, 3, 3, 1)),
        padding=(1, 1, 1, 1),
        groups=3,
        data_layout="NHWC",
        kernel_layout="HWOI",
    )
    return relax.op.clip(b.emit(y), 0, 6)


def residual(b, x, random_array):
    y = b.emit(conv_bias_relu(random_array)(b, x))
    weights = relax.const(random_array(1, 1, 8, 3))
    z = relax.op.nn.conv2d(y, weights, data_layout="NHWC", kernel_layout="HWIO")
    return relax.op.nn.relu(b.emit(relax.op.add(x, b.emit(z))))


def nchw_strided(b, x, random_array):
    weights = relax.const(random_array(4, 8, 3, 3))
    y = relax.op.nn.conv2d(x, weights, strides=(2, 2), padding=(1, 1, 1, 1))
    return relax.op.add(b.emit(y), relax.const(random_array(1, 4, 1, 1)))


def dense_softmax(b, x, random_array):
    y = b.emit(relax.op.matmul(x, relax.const(random_array(8, 10))))
    return relax.op.nn.softmax(b.emit(relax.op.add(y, relax.const(random_array(10)))))


ANNOTATIONS = {"buffer_allocated_addr": [], "buffer_data_alignment": 64}

POOLING = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1), "layout": "NHWC"}
IMAGE = (1, 8, 8, 3)
MODELS = {
    "conv": (lambda b, x, r: conv_bias_relu(r)(b, x), IMAGE),
    "strided conv": (lambda b, x, r: conv_bias_relu(r, (2, 2))(b, x), IMAGE),
    "conv NCHW": (nchw_strided, (1, 8, 9, 9)),
    "depthwise": (depthwise, IMAGE),
    "residual": (residual, IMAGE),
    "max pool": (lambda b, x, r: relax.op.nn.max_pool2d(x, **POOLING), IMAGE),
    "average pool": (lambda b, x, r: relax.op.nn.avg_pool2d(x, **POOLING), IMAGE),
    "matmul": (lambda b, x, r: relax.op.matmul(x, relax.const(r(8, 5))), (4, 8)),
    "dense softmax": (dense_softmax, (4, 8)),
    "softmax": (lambda b, x, r: relax.op.nn.softmax(x), (4, 10)),
    "softmax of a vector": (lambda b, x, r: relax.op.nn.softmax(x), (10,)),
    "log softmax": (lambda b, x, r: relax.op.nn.log_softmax(x), (4, 10)),
    "mean": (lambda b, x, r: relax.op.mean(x, axis=[1, 2]), IMAGE),
    "variance": (lambda b, x, r: relax.op.variance(x, axis=[1]), (4, 8)),
    "layer norm": (
        lambda b, x, r: relax.op.nn.layer_norm(x, relax.const(r(8)), relax.const(r(8)), axes=[-1]),
        (4, 8),
    ),
    "concat": (
        lambda b, x, r: relax.op.concat([x, b.emit(relax.op.nn.relu(x))], axis=1),
        (2, 4),
    ),
    "pad": (lambda b, x, r: relax.op.nn.pad(x, [1, 2, 0, 3]), (3, 4)),
    "argmax": (lambda b, x, r: relax.op.argmax(x, axis=1), (4, 8)),
    "transpose": (lambda b, x, r: relax.op.permute_dims(x), (4, 8)),
}


@pytest.mark.cc
@pytest.mark.parametrize("name", MODELS)
def test_no_scratch_and_the_same_bits(name, model, expected, random_array):
    """Of operators alone: those that run interleaved keep rows of what is between them."""
    body, shape = MODELS[name]
    mod = model(lambda b, x: body(b, x, random_array), ("x", shape, "float32"))
    with PassContext(disabled_pass=["StreamOperators"]):
        compiled = build(mod)
    planned = [b for b in compiled.memory_plan.buffers if b.function != "__tvm_main__"]
    assert [(b.function, b.name) for b in planned] == []
    data = random_array(*shape)
    (actual,) = compiled.run({"x": data}).values()
    (wanted,) = expected(mod, data)
    assert actual.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_no_reduction_is_computed_more_often(name, model, operators, random_array):
    body, shape = MODELS[name]
    mod = FuseOperators()(model(lambda b, x: body(b, x, random_array), ("x", shape, "float32")))
    before = operators(LowerOperators()(mod))
    after = operators(LowerOperators()(ScheduleOperators()(mod)))
    assert {n: stores(f, is_update) for n, f in after.items()} == {
        n: stores(f, is_update) for n, f in before.items()
    }


@pytest.mark.slow
def test_an_accumulator_is_one_element():
    @T.prim_func(s_tir=True, private=True)
    def before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
        total = T.sblock_alloc_buffer((4,))
        for i, k in T.grid(4, 8):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + A[vi, vk]
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                B[vi] = total[vi] * T.float32(2)

    @T.prim_func(s_tir=True, private=True)
    def after(A: T.handle("float32"), B: T.handle("float32")):
        A_1 = T.decl_buffer((32,), "float32", data=A)
        B_1 = T.decl_buffer((4,), "float32", data=B)
        for i in range(4):
            total = T.alloc_buffer((1,), "float32", scope="local", annotations=ANNOTATIONS)
            total[0] = T.float32(0)
            for k in range(8):
                total[0] = total[0] + A_1[i * 8 + k]
            B_1[i] = total[0] * T.float32(2)

    tvm.ir.assert_structural_equal(lower(before), after)


def test_a_reduction_that_two_dimensions_read_is_not_repeated():
    @T.prim_func(s_tir=True, private=True)
    def before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 4), "float32"), C: T.Buffer((4, 4))):
        product = T.sblock_alloc_buffer((4, 4))
        for i, j, k in T.grid(4, 4, 8):
            with T.sblock("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    product[vi, vj] = T.float32(0)
                product[vi, vj] = product[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(4, 4):
            with T.sblock("c"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = product[vi, vj] + product[vj, vi]

    func = lower(before)
    assert stores(func) == 16 * 8 + 16 + 16
    assert scratch(func) == {"product": 16}


def test_a_reduction_that_every_iteration_reads_is_not_repeated():
    @T.prim_func(s_tir=True, private=True)
    def before(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
        total = T.sblock_alloc_buffer((1,))
        for k in range(8):
            with T.sblock("total"):
                vk = T.axis.reduce(8, k)
                with T.init():
                    total[0] = T.float32(0)
                total[0] = total[0] + A[vk]
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                B[vi] = total[0] * T.float32(2)

    assert stores(lower(before)) == 1 + 8 + 4


def test_rows_that_two_consumers_read_are_one_row_of_scratch():
    @T.prim_func(s_tir=True, private=True)
    def before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 6), "float32"), C: T.Buffer((4, 6))):
        product = T.sblock_alloc_buffer((4, 6))
        total = T.sblock_alloc_buffer((4,))
        for i, j, k in T.grid(4, 6, 8):
            with T.sblock("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    product[vi, vj] = T.float32(0)
                product[vi, vj] = product[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, k in T.grid(4, 6):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + product[vi, vk]
        for i, j in T.grid(4, 6):
            with T.sblock("c"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = product[vi, vj] / total[vi]

    func = lower(before)
    assert scratch(func) == {"product": 6}
    assert stores(func) == 4 * (6 * (1 + 8) + 1 + 6 + 6)


def test_columns_of_which_one_consumer_reads_all_are_not_repeated():
    @T.prim_func(s_tir=True, private=True)
    def before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 4), "float32"), C: T.Buffer((4, 4))):
        product = T.sblock_alloc_buffer((4, 4))
        total = T.sblock_alloc_buffer((4,))
        for i, j, k in T.grid(4, 4, 8):
            with T.sblock("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    product[vi, vj] = T.float32(0)
                product[vi, vj] = product[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, k in T.grid(4, 4):
            with T.sblock("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + product[vk, vi]
        for i, j in T.grid(4, 4):
            with T.sblock("c"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = product[vi, vj] / total[vi]

    func = lower(before)
    assert scratch(func) == {"product": 16}
    assert stores(func) == 16 * (1 + 8) + 4 * (1 + 4 + 4)


def test_a_reduction_without_an_initial_value_is_left_alone():
    @T.prim_func(s_tir=True, private=True)
    def before(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
        for k in range(8):
            with T.sblock("b"):
                vk = T.axis.reduce(8, k)
                B[0] = B[0] + A[vk]

    assert stores(lower(before)) == 8


def test_what_is_not_in_block_form_is_left_alone():
    @T.prim_func
    def func(a: T.handle("float32")):
        A = T.decl_buffer((4,), "float32", data=a)
        for i in range(4):
            A[i] = T.float32(0)

    mod = IRModule({"f": func})
    tvm.ir.assert_structural_equal(ScheduleOperators()(mod), mod)


def test_attributes_of_a_function_are_kept():
    @T.prim_func(s_tir=True)
    def func(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 3})
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]

    attrs = ScheduleOperators()(IRModule({"f": func}))["f"].attrs
    assert attrs["op_pattern"] == 3
    assert attrs["global_symbol"] == "func"


@pytest.mark.slow
@pytest.mark.cc
def test_integer_convolution_has_the_same_bits(model, expected, random_array):
    def body(b, x):
        weights = relax.const(random_array(3, 3, 3, 4, dtype="int8"))
        y = relax.op.nn.conv2d(
            x,
            weights,
            padding=(1, 1, 1, 1),
            data_layout="NHWC",
            kernel_layout="HWIO",
            out_dtype="int32",
        )
        y = b.emit(relax.op.right_shift(b.emit(y), relax.const(np.int32(5))))
        y = b.emit(relax.op.clip(y, -128, 127))
        return relax.op.astype(y, "int8")

    mod = model(body, ("x", IMAGE, "int8"))
    data = random_array(*IMAGE, dtype="int8")
    compiled = build(mod)
    assert [b for b in compiled.memory_plan.buffers if b.function != "__tvm_main__"] == []
    (actual,) = compiled.run({"x": data}).values()
    assert np.array_equal(actual, expected(mod, data)[0])


@pytest.mark.parametrize(
    ("body", "shape", "distance"),
    [
        (lambda b, x: relax.op.nn.max_pool2d(x, (2, 2), (2, 2), layout="NHWC"), IMAGE, 0),
        (lambda b, x: relax.op.sum(x, [2]), IMAGE, 0),
        # All of a row but its last element is written while the row is read.
        (lambda b, x: relax.op.matmul(x, relax.const(np.ones((8, 5), "float32"))), (4, 8), 16),
    ],
    ids=["max pool", "sum", "matmul"],
)
def test_a_result_is_stored_when_it_is_known(body, shape, distance, model):
    mod = lower_to_aot(model(body, ("x", shape, "float32")))
    (func,) = [f for v, f in mod.functions.items() if v.name_hint != "__tvm_main__"]
    assert safe_overlap(func).distance(func.params[0], func.params[-1]) == distance
