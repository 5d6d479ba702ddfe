"""A part of a tensor replaced in place: what is kept between runs is changed, and never copied."""

from __future__ import annotations

from tvm import relax, tirx

from usmp.ops.emit import shape_of
from usmp.ops.statements import call_in_place


def overwritten_slice(
    builder: relax.BlockBuilder,
    data: relax.Expr,
    updates: relax.Expr,
    axis: int,
    begin: int,
    step: int = 1,
) -> relax.Expr:
    """Append a call of a PrimFunc that writes `updates` into `data`.

    Parameters
    ----------
    updates
        of the shape of `data`, but for `axis`.
    begin, step
        along `axis`, the first of the updates goes to `begin`, the next to `begin + step`.

    Returns
    -------
    relax.Expr
        What `data` has become.

    Raises
    ------
    ValueError
        the updates do not fit.
    """
    expected, given = list(shape_of(data)), list(shape_of(updates))
    last = begin + (given[axis] - 1) * step
    expected[axis] = given[axis]
    if given != expected or begin < 0 or step < 1 or last >= shape_of(data)[axis]:
        raise ValueError(
            f"updates of shape {given} do not fit into a tensor of shape {list(shape_of(data))} "
            f"from {begin} on, with step {step} along axis {axis}"
        )
    if 0 in given:
        return data

    def body(data: tirx.Buffer, updates: tirx.Buffer) -> tirx.Stmt:
        place = [tirx.Var(f"i{i}", "int32") for i in range(len(given))]
        target = [begin + i * step if n == axis else i for n, i in enumerate(place)]
        stmt: tirx.Stmt = tirx.BufferStore(data, updates[tuple(place)], target)
        for index, extent in reversed(list(zip(place, given, strict=True))):
            stmt = tirx.For(index, 0, extent, tirx.ForKind.SERIAL, stmt)
        return stmt

    arguments = [("data", data), ("updates", updates)]
    (result,) = call_in_place(builder, "overwrite", body, arguments, [0])
    return result
