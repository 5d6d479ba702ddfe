"""Random functions compute the same with storage planned here as with TVM's, in no more bytes."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm import relax
from tvm.relax.backend.cpu_generic import pipeline as cpu

import usmp
from support.relax_vm import TARGET
from usmp.relax.storage.allocated_bytes import allocations_of
from usmp.relax.transform import PlanStorage

pytestmark = pytest.mark.property

ROWS, COLUMNS = 4, 24

UNARY = {
    "relu": relax.op.nn.relu,
    "tanh": relax.op.tanh,
    "softmax": lambda x: relax.op.nn.softmax(x, axis=-1),
    "flip": lambda x: relax.op.flip(x, axis=1),
    "shift": lambda x: relax.op.concat(
        [
            relax.op.strided_slice(x, axes=[1], begin=[5], end=[COLUMNS]),
            relax.op.strided_slice(x, axes=[1], begin=[0], end=[5]),
        ],
        axis=1,
    ),
    "transposed": lambda x: relax.op.reshape(relax.op.permute_dims(x), (ROWS, COLUMNS)),
    "viewed": lambda x: relax.op.reshape(
        relax.op.nn.relu(relax.op.reshape(x, (ROWS * COLUMNS,))), (ROWS, COLUMNS)
    ),
    "centered": lambda x: relax.op.subtract(x, relax.op.mean(x, axis=1, keepdims=True)),
    "product": lambda x: relax.op.matmul(relax.op.matmul(x, relax.op.permute_dims(x)), x),
    "pooled": lambda x: relax.op.reshape(
        relax.op.nn.max_pool2d(
            relax.op.reshape(x, (1, 2, 8, 6)), pool_size=(3, 3), strides=(1, 1), padding=(1, 1)
        ),
        (ROWS, COLUMNS),
    ),
}
BINARY = {
    "add": relax.op.add,
    "mixed": lambda x, y: relax.op.add(relax.op.flip(x, axis=0), y),
    "grown": lambda x, y: relax.op.strided_slice(
        relax.op.nn.relu(relax.op.concat([x, y], axis=1)), axes=[1], begin=[7], end=[7 + COLUMNS]
    ),
}

STEP = st.tuples(st.sampled_from([*UNARY, *BINARY]), st.integers(0, 3), st.integers(0, 5))


def function_of(steps, outputs):
    """A function of these steps; each takes one of the last values."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((ROWS, COLUMNS), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            values = [x]
            for name, first, second in steps:
                a, b = values[-1 - first % len(values)], values[-1 - second % len(values)]
                value = UNARY[name](a) if name in UNARY else BINARY[name](a, b)
                values.append(builder.emit(value))
            several = builder.emit_output(relax.Tuple([values[-1 - n] for n in range(outputs)]))
        builder.emit_func_output(several)
    return builder.get()


def passes(planner, fuses):
    first = cpu.legalize_passes(TARGET) if fuses else [relax.transform.LegalizeOps()]
    lowering = [*cpu.library_dispatch_passes(TARGET), *first, *cpu.dataflow_lower_passes(TARGET)]
    return tvm.transform.Sequential(lowering), tvm.transform.Sequential(
        [planner, *cpu.finalize_passes(TARGET)[1:]]
    )


def results(mod, planner, inputs, fuses):
    lowering, rest = passes(planner, fuses)
    both = tvm.transform.Sequential([lowering, rest])
    machine = relax.VirtualMachine(tvm.compile(mod, TARGET, relax_pipeline=both), tvm.cpu())
    return [each.numpy() for each in machine["main"](*inputs)]


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(STEP, min_size=3, max_size=12), st.integers(1, 2), st.booleans(), st.integers(0, 99)
)
def test_the_same_bits_in_no_more_bytes(steps, outputs, fuses, seed):
    mod = function_of(steps, outputs)
    values = np.random.default_rng(seed).standard_normal((ROWS, COLUMNS)).astype("float32")
    inputs = [tvm.runtime.tensor(values)]
    with TARGET:
        lowered = passes(PlanStorage(), fuses)[0](mod)
        planned = PlanStorage()(lowered)
        tvms = relax.transform.StaticPlanBlockMemory()(lowered)
    (facts,) = usmp.storage_plan(planned)
    assert allocations_of(planned["main"]).bytes == facts.bytes + facts.output_bytes
    assert allocations_of(planned["main"]).bytes <= allocations_of(tvms["main"]).bytes
    ours = results(mod, PlanStorage(), inputs, fuses)
    others = results(mod, relax.transform.StaticPlanBlockMemory(), inputs, fuses)
    for one, other in zip(ours, others, strict=True):
        np.testing.assert_array_equal(one.view("uint32"), other.view("uint32"))
