"""Distances of one operator are those of the whole program, at each size."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.target import Target

from usmp.analysis.memory.calls import prim_funcs
from usmp.analysis.memory.facts import ModuleFacts
from usmp.analysis.symbolic.distances import DistancesOfAllSizes
from usmp.analysis.symbolic.instances import Instances, InstanceStore, all_sizes
from usmp.aot_pipeline import lower_to_aot
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME
from usmp.relax.symbolic_sizes import with_max_sizes

LARGEST = 6


def lowered() -> tvm.IRModule:
    """Attention of n rows, its result added to an input that it reads twice."""
    rows = tirx.Var("n", "int64")
    data = relax.Var("data", relax.TensorType((rows, 4), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            x = builder.emit(relax.op.exp(data))
            scores = builder.emit(relax.op.matmul(x, builder.emit(relax.op.permute_dims(x))))
            weights = builder.emit(relax.op.nn.softmax(scores))
            result = builder.emit(relax.op.matmul(weights, x))
            doubled = builder.emit(relax.op.concat([result, result], 1))
            result = builder.emit_output(relax.op.nn.softmax(doubled))
        builder.emit_func_output(result)
    return lower_to_aot(with_max_sizes(builder.get(), {"n": LARGEST}))


@pytest.mark.slow
def test_distances_of_one_operator_are_those_of_the_program():
    mod = lowered()
    bound = tirx.transform.BindTarget(Target("c"))(mod)
    store = InstanceStore()
    instances = Instances(bound, MAIN_FUNCTION_NAME, store)
    largest = instances.at({"n": LARGEST})
    distances = DistancesOfAllSizes(MAIN_FUNCTION_NAME, instances, largest, store)
    memories = {of: stmt.buffer for stmt, of in largest.allocations.items()}
    found = {}
    for sizes in all_sizes(instances.sizes):
        instance = instances.at(sizes)
        overlap = ModuleFacts(prim_funcs(instance.mod), store.facts).of(MAIN_FUNCTION_NAME).overlap
        for first, dying in instance.allocations.items():
            for second, written in instance.allocations.items():
                if (
                    first is not second
                    and first.buffer.scope() == second.buffer.scope() == "global"
                ):
                    key = memories[dying], memories[written]
                    found.setdefault(key, []).append(overlap.distance(first.buffer, second.buffer))
    assert len(found) > 20
    shared = 0
    for (dying, written), expected in found.items():
        np.testing.assert_array_equal(distances.by_size(dying, written), expected)
        assert distances.distance(dying, written) == max(expected)
        shared += distances._of_one_call(dying, written) is not None
    # Most pairs have no operator in common.
    assert shared == 4
