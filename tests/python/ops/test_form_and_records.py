"""What records say of an operator is what its form reads and computes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, GlobalVar, IRModule

from support.imported_models import imported
from support.quantized_kinds import of_each_kind
from support.quantized_models import CATALOG, QuantizedModel
from usmp.analysis.integers.integer_ranges import IntegerRanges
from usmp.aot.transform import LowerOperators
from usmp.codegen.llvm import evaluate
from usmp.ops.emit import shape_of, without_record
from usmp.ops.form import AxisRead, Form, along
from usmp.ops.quantized.rescaling.parameters import integer_limits
from usmp.ops.records import QuantizedOp, operator_of
from usmp.ops.records.products import DepthwiseConv2d
from usmp.ops.records.reductions import ReductionOp
from usmp.ops.records.windowed import PoolOp, WindowedOp
from usmp.relax.transform.channels.channel_operator import RecordedCall, is_integer, is_static
from usmp.relax.transform.channels.channel_operators import channel_operator
from usmp.relax.transform.channels.channel_ranges import ChannelRanges
from usmp.tir.nodes import nodes_of


@cache
def recorded_calls() -> list[RecordedCall]:
    """The calls of integer operators in models of each kind."""
    return calls_in(of_each_kind(CATALOG))


def calls_in(models: Iterable[QuantizedModel]) -> list[RecordedCall]:
    found = []
    for model in models:
        mod = imported(model)
        for function in mod.functions.values():
            if not isinstance(function, relax.Function):
                continue
            for call in nodes_of(function.body, Call):
                func = mod.functions.get(call.args[0]) if len(call.args) == 2 else None
                record = operator_of(func) if isinstance(func, tirx.PrimFunc) else None
                if record is not None:
                    found.append(RecordedCall(call, record, func))
    return found


def formed(
    kind: type, calls: Iterable[RecordedCall]
) -> Iterator[tuple[RecordedCall, QuantizedOp, Form]]:
    for call in calls:
        if isinstance(call.record, kind) and call.form is not None:
            yield call, call.record, call.form


def kernel_of(call: RecordedCall, record: WindowedOp) -> tuple[int, int]:
    if isinstance(record, PoolOp):
        return record.kernel
    shape = shape_of(call.arguments[1])
    height, width = shape[:2] if isinstance(record, DepthwiseConv2d) else shape[1:3]
    return height, width


@pytest.mark.slow
def test_windows_move_as_records_say():
    kinds = set()
    for call, record, form in formed(WindowedOp, recorded_calls()):
        kinds.add(record.kind)
        kernel = kernel_of(call, record)
        for side in (0, 1):
            axis = record.layout.data.axes.index("HW"[side])
            access = along(form, {0: axis})
            reach = (kernel[side] - 1) * record.dilations[side] + 1
            read = AxisRead(axis, record.strides[side], -record.padding[side], reach)
            assert access is not None and access.reads == {0: read}, call.call
            assert access.axis == record.layout.output.axes.index("HW"[side])
    assert kinds == {"average_pool", "conv2d", "depthwise_conv2d", "max_pool"}


@pytest.mark.slow
def test_reductions_are_over_the_axes_of_their_records():
    # Those over everything have no form: all of a kind are looked at.
    models = [model for model in CATALOG if model.name.startswith(("mean_", "reduce_", "sum_"))]
    kinds = set()
    for call, record, form in formed(ReductionOp, calls_in(models)):
        kinds.add(record.kind)
        shape = shape_of(call.arguments[0])
        for axis in range(len(shape)):
            access = along(form, {0: axis})
            if axis in record.axes:
                assert access is None or shape[axis] == 1, call.call
            elif shape[axis] > 1:
                assert access is not None and access.reads[0].is_same, call.call
    assert kinds == {"mean", "reduce_max", "reduce_min", "sum"}


@pytest.mark.slow
def test_outputs_are_within_the_limits_of_records():
    count = 0
    for call in recorded_calls():
        clamp = getattr(call.record, "clamp", None)
        if clamp is None or call.form is None:
            continue
        found = IntegerRanges().of(call.form.nests[-1].value)
        assert clamp[0] <= found[0] and found[1] <= clamp[1], call.call
        count += 1
    assert count > 50


@pytest.mark.slow
@pytest.mark.parametrize("number", range(8))
def test_outputs_are_in_the_ranges_that_pruning_expects(number):
    """Of data in random ranges of channels."""
    kinds = set()
    for call in recorded_calls()[number::8]:
        random = np.random.default_rng(len(kinds))
        tensors = [a for a in call.arguments if not isinstance(a, GenericConst)]
        if not all(is_static(a) and is_integer(a) for a in (*tensors, call.call)):
            continue
        data = tensors[0]
        if not shape_of(data):
            continue  # It has no channels.
        axis = len(shape_of(data)) - 1
        limits = integer_limits(str(data.ty.dtype))
        ends = np.sort(random.integers(*limits, (2, shape_of(data)[axis]), endpoint=True), axis=0)
        ends[1] = np.where(random.random(len(ends[1])) < 0.3, ends[0], ends[1])
        operator = channel_operator({data: ChannelRanges(axis, *ends)}, call)
        if operator is None:
            continue
        kinds.add(call.record.kind)
        given = {data: random.integers(*ends, (*shape_of(data)[:-1], len(ends[0])), endpoint=True)}
        for tensor in tensors[1:]:
            least, greatest = integer_limits(str(tensor.ty.dtype))
            given.setdefault(tensor, random.integers(least, greatest, shape_of(tensor)))
        arguments = [
            a.value.numpy() if isinstance(a, GenericConst) else given[a].astype(str(a.ty.dtype))
            for a in call.arguments
        ]
        output = np.moveaxis(evaluated(call.prim_func, arguments), operator.output.axis, 0)
        rows = output.reshape(len(output), -1).astype(np.int64)
        assert (operator.output.least <= rows.min(axis=1)).all(), call.call
        assert (rows.max(axis=1) <= operator.output.greatest).all(), call.call
    assert len(kinds) > 8


def evaluated(func: tirx.PrimFunc, arguments: list[np.ndarray]) -> np.ndarray:
    variable, output = GlobalVar("f"), func.params[-1]
    flat = LowerOperators()(IRModule({variable: without_record(func)}))[variable]
    result = np.zeros([int(extent) for extent in output.shape], str(output.dtype))
    evaluate(flat, arguments, result)
    return result
