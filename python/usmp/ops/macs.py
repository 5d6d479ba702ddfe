"""The number of multiply-accumulates of an operator: the usual measure of its work.

Each product that is added to a sum counts as one, also a product with padding, whatever
instructions compute it. Rescaling, pooling and element-wise operators have none.
"""

from __future__ import annotations

from math import prod

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.records import operators_of
from usmp.ops.records.products import TransposeConv2d
from usmp.tir.identity import identity
from usmp.tir.nodes import nodes_of


def macs_of(func: tirx.PrimFunc) -> int | None:
    """Return the number of multiply-accumulates of an operator that is not fused or scheduled.

    Parameters
    ----------
    func
        the PrimFunc, whose parameters have the shapes of the tensors.

    Returns
    -------
    int | None
        None if extents of its loops are not constant, or if it is control flow.
    """
    if CONTROL_FLOW_ATTR.is_on(func):
        return None
    # The first record is enough, because operators that share their code have the same products.
    if any(isinstance(records[0], TransposeConv2d) for records in operators_of(func)):
        # Each element of the data meets all taps of all outputs: (outputs, height, width, depth).
        # Loops would overestimate, because some of their iterations reach no element of the data.
        data, weight = ([int(extent) for extent in param.shape] for param in func.params[:2])
        return prod(data) * prod(weight[:3])
    return macs_of_loops(func.body)


def macs_of_loops(body: tirx.Stmt) -> int | None:
    """Return the number of products that loops add to sums, over all iterations.

    Returns
    -------
    int | None
        None if a loop around such a sum has an extent that is not constant.
    """
    total = {
        store: count for store in nodes_of(body, tirx.BufferStore) if (count := _products(store))
    }
    for loop in nodes_of(body, tirx.For):
        for store in nodes_of(loop.body, tirx.BufferStore):
            if store not in total:
                continue
            if not isinstance(loop.extent, tirx.IntImm):
                return None
            total[store] *= int(loop.extent)
    return sum(total.values())


def _products(store: tirx.BufferStore) -> int:
    """Return the number of products that a statement adds to its element."""
    value = store.value
    if not isinstance(value, tirx.Add):
        return 0
    for kept, added in ((value.a, value.b), (value.b, value.a)):
        if isinstance(kept, TensorLoad) and kept.source.same_as(store.buffer):
            # Do not count shifted products, which interpolate between entries of a table.
            shifts = nodes_of(added, tirx.RShift)
            shifted = {identity(term) for shift in shifts for term in nodes_of(shift, tirx.Mul)}
            return sum(
                bool(nodes_of(product.a, TensorLoad)) and bool(nodes_of(product.b, TensorLoad))
                for product in nodes_of(added, tirx.Mul)
                if identity(product) not in shifted
            )
    return 0
