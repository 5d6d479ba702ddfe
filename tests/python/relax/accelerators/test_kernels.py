"""What patterns state of their functions: scratch memory by shape, distances, no status."""

from __future__ import annotations

from math import prod

import pytest
from tvm.relax.dpl import is_op, wildcard
from tvm.script import ir as I
from tvm.script import relax as R

from support.accelerator_models import registered, stated
from usmp.objects.attributes.operator_attributes import ACCELERATOR_FUNCTION_ATTR
from usmp.objects.extern_kernel import kernels_of
from usmp.passes import apply_passes
from usmp.relax.accelerators.describe import Partition, describe_partition
from usmp.relax.accelerators.kernels import stated_facts
from usmp.relax.transform.lower_accelerator_functions import LowerAcceleratorFunctions
from usmp.relax.transform.partition_for_accelerators import PartitionForAccelerators

RELU = ("accel.relu", is_op("relax.nn.relu")(wildcard()))


@I.ir_module
class Rectified:
    @R.function
    def main(x: R.Tensor((3, 5), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y


def lowered():
    with registered(RELU):
        mod = PartitionForAccelerators(["accel"])(Rectified)
    return apply_passes(LowerAcceleratorFunctions(["accel"], "tvmgen_default"), mod)[
        "call_accel_main_0"
    ]


def test_nothing_is_stated():
    func = lowered()
    assert kernels_of(func) == {}
    assert func.attrs[ACCELERATOR_FUNCTION_ATTR.name].can_fail
    assert str(func.ret_type.dtype) == "int32"


def test_a_workspace_by_the_shapes_of_the_tensors():
    with stated("accel.relu", workspace_bytes=lambda tensors: 2 * prod(tensors["input"].shape)):
        function = lowered().attrs[ACCELERATOR_FUNCTION_ATTR.name]
    parameters = [(str(p.name), [int(e) for e in p.shape]) for p in function.parameters]
    assert parameters == [("input", [3, 5]), ("output", [3, 5]), ("workspace", [30])]


def test_distances_by_the_names_of_the_tensors():
    """In bytes; the arguments are those of C, without the handle."""
    distances = {("input", "output"): 8}
    with stated("accel.relu", can_fail=False, keeps_state=False, safe_distances=distances):
        func = lowered()
    (kernel,) = kernels_of(func).values()
    assert kernel.symbol == "tvmgen_default_accel_main_0"
    assert [(str(a.name), int(a.size_bytes), a.reads, a.writes) for a in kernel.arguments] == [
        ("input", 60, True, False),
        ("output", 60, False, True),
    ]
    (distance,) = kernel.safe_distances
    assert (int(distance.input), int(distance.output), int(distance.size_bytes)) == (0, 1, 8)
    assert (kernel.can_fail, kernel.keeps_state) == (False, False)
    assert not func.attrs[ACCELERATOR_FUNCTION_ATTR.name].can_fail


def test_distances_by_a_function():
    def in_place(tensors):
        return {("input", "output"): 4 * tensors["output"].shape[1]}

    with stated("accel.relu", safe_distances=in_place):
        (kernel,) = kernels_of(lowered()).values()
    assert [int(distance.size_bytes) for distance in kernel.safe_distances] == [20]
    assert (kernel.can_fail, kernel.keeps_state) == (True, True)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            {"safe_distances": {("data", "output"): 0}},
            'tvmgen_default_accel_main_0 states a safe distance of "data", which it does not have; '
            "it has input, output",
        ),
        (
            {"safe_distances": {("input", "output"): -1}},
            'extern kernel "tvmgen_default_accel_main_0" states a safe distance of -1 bytes from '
            'input "input" to output "output", which has 60 bytes; state 0 to 60',
        ),
        (
            {"workspace_bytes": -4},
            "tvmgen_default_accel_main_0 states a workspace of -4 bytes; state 0 or more",
        ),
    ],
)
def test_statements_that_cannot_be(facts, message):
    with stated("accel.relu", **facts), pytest.raises(ValueError) as caught:
        lowered()
    assert str(caught.value) == message


def test_a_function_of_several_patterns_states_nothing():
    both = Partition(composites=["accel.a", "accel.b"])
    assert stated_facts(both, "f") == stated_facts(Partition(), "f")
    with stated("accel.b", can_fail=False), pytest.raises(ValueError) as caught:
        stated_facts(both, "f")
    assert str(caught.value) == (
        'f computes several patterns (accel.a, accel.b), and "accel.b" states what its own '
        "functions do; state nothing, or leave the patterns apart"
    )


@I.ir_module
class More:
    """A function for an accelerator that computes more than what its pattern matched."""

    @R.function
    def npu(x: R.Tensor((4, 3), "float32")) -> R.Tensor((4, 3), "float32"):
        R.func_attr({"Codegen": "accel"})

        @R.function
        def matched(y: R.Tensor((4, 3), "float32")) -> R.Tensor((4, 3), "float32"):
            R.func_attr({"Composite": "accel.relu"})
            with R.dataflow():
                z = R.nn.relu(y)
                R.output(z)
            return z

        a = matched(x)
        return R.nn.softmax(a, axis=0)


def test_a_statement_holds_for_no_function_that_computes_more():
    partition = describe_partition(More["npu"], More)
    assert (partition.composites, partition.other_operators) == (["accel.relu"], 1)
    with stated("accel.relu", can_fail=False), pytest.raises(ValueError) as caught:
        stated_facts(partition, "f")
    assert "f computes several patterns (accel.relu, and 1 operators of no pattern)" in str(
        caught.value
    )


@pytest.mark.parametrize("size", [10.9, -0.9, "12", None])
def test_a_number_of_bytes_is_an_integer(size):
    """Cut off, it would be too few."""
    for facts in ({"workspace_bytes": size}, {"safe_distances": {("input", "output"): size}}):
        with stated("accel.relu", **facts), pytest.raises(ValueError) as caught:
            lowered()
        assert str(caught.value).endswith(f"of {size!r} bytes; state an integer, rounded up")
