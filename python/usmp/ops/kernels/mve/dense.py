"""The kernel of `fully_connected` operators for cores with MVE: four output channels at a time."""

from __future__ import annotations

from tvm import tirx

from usmp.objects.schedule import Schedule
from usmp.objects.target.cores import Core
from usmp.ops.kernels.call.operator_call import OperatorCall
from usmp.ops.kernels.kernel import Kernel, TiledBody, kernel
from usmp.ops.kernels.loops.line import Line
from usmp.ops.kernels.mve.costs import products_instructions
from usmp.ops.kernels.mve.ending import constant_parameters, plain_or_functions
from usmp.ops.kernels.mve.products import (
    Products,
    packed_records,
    packed_weight,
    products,
    split_run,
)
from usmp.ops.kernels.products.dense import is_plain
from usmp.tir.nodes import sequence


def mve_dense_kernel(call: OperatorCall, core: Core) -> Kernel | None:
    """Return the kernel of a product with a constant matrix; None for unsupported operators."""
    operator = call.weighted if core.has_mve else None
    if operator is None or not is_plain(operator):
        return None
    epilogue = plain_or_functions(operator, operator.values, core)
    pixels, depth = (int(extent) for extent in operator.data.shape)
    rows = split_run(depth)
    if epilogue is None or rows is None:
        return None
    ending, function = epilogue
    values = packed_weight(operator.values, rows)
    records = packed_records(ending)
    parameters, replaced = constant_parameters(operator, values, records)
    outputs = operator.values.shape[0]
    by = Products(*parameters, rows, rows.columns, outputs, ending.limits, ending.rounding)
    zero = tirx.IntImm("int32", 0)
    data = Line(operator.data, (zero, zero), depth)
    output = Line(operator.parts.output, (zero, zero), outputs)
    body = products(by, data, output, pixels)
    if function is not None:
        body.append(function([output], output, pixels * outputs))
    instructions = products_instructions(rows, outputs, pixels, False)
    tiled = TiledBody(sequence(body), Schedule("1 row x 4 channels, vectors", instructions))
    return kernel(call, [tiled], replaced)
