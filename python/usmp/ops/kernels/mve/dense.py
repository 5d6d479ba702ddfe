"""The kernel of `fully_connected` operators for cores with MVE: four output channels at a time."""

from __future__ import annotations

from tvm import tirx

from usmp.objects.cores import Core
from usmp.objects.schedule import Schedule
from usmp.ops.kernels.dense import is_plain
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.line import Line
from usmp.ops.kernels.mve.costs import products_instructions
from usmp.ops.kernels.mve.ending import vector_ending
from usmp.ops.kernels.mve.products import (
    Products,
    packed_records,
    packed_weight,
    products,
    split_run,
)
from usmp.ops.kernels.operator_call import OperatorCall
from usmp.tir.nodes import sequence


def mve_dense_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """A product with a constant matrix."""
    operator = call.weighted if core.has_mve else None
    if operator is None or operator.record.kind != "fully_connected" or not is_plain(operator):
        return None
    ending = vector_ending(operator, operator.values)
    pixels, depth = (int(extent) for extent in operator.data.shape)
    rows = split_run(depth)
    function = None if ending is None else ending.function(operator.parts)
    if ending is None or rows is None or not (ending.is_plain or function):
        return None
    values = packed_weight(operator.values, rows)
    records = packed_records(ending)
    weight = tirx.decl_buffer(values.shape, "int8", "weight")
    buffer = tirx.decl_buffer(records.shape, "int32", "records")
    outputs = operator.values.shape[0]
    by = Products(weight, buffer, rows, rows.columns, outputs, ending.limits)
    zero = tirx.IntImm("int32", 0)
    data = Line(operator.data, (zero, zero), depth)
    output = Line(operator.parts.output, (zero, zero), outputs)
    body = products(by, data, output, pixels)
    if function is not None:
        body.append(function([output], output, pixels * outputs))
    replaced = {operator.weight: [(weight, values), (buffer, records)]}
    replaced |= {own: [] for own in operator.ending}
    instructions = products_instructions(rows, outputs, pixels, False)
    tiled = TiledBody(sequence(body), Schedule("1 row x 4 channels, vectors", instructions))
    return kernel(call, [tiled], replaced)
