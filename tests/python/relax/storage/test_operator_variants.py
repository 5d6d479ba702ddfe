"""PrimFuncs of tensors that begin inside their storage, or share it: run, and compared."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script import tirx as T

from usmp.relax.storage.operator_variants import (
    SharedParameter,
    with_elem_offsets,
    with_shared_parameters,
)


@T.prim_func
def doubled(
    a: T.Buffer((4,), "int32"),
    b: T.Buffer((4,), "int32"),
    c: T.Buffer((2, 2), "int32"),
    out: T.Buffer((4,), "int32"),
):
    for i in range(4):
        out[i] = a[i] + 2 * b[i] + 3 * c[i // 2, i % 2]


def test_offsets_are_variables_of_64_bits_and_multiples():
    func = with_elem_offsets(doubled, {0: 1, 3: 4})
    a, b, _, out = func.params
    assert isinstance(a.ty.elem_offset, tirx.Var) and str(a.ty.elem_offset.ty.dtype) == "int64"
    assert (int(a.ty.offset_factor), int(out.ty.offset_factor)) == (1, 4)
    assert int(b.ty.elem_offset) == 0
    assert with_elem_offsets(doubled, {}).same_as(doubled)


@pytest.mark.parametrize(
    ("shared", "starts"),
    [
        # The same elements under another shape, and others of the same shape.
        (((0, ((2, 0),)),), {"c": 0}),
        (((0, ((1, 2),)),), {"b": 2}),
        (((0, ((1, 0),)),), {"b": 0}),
        (((0, ((1, 0), (2, 3))),), {"b": 0, "c": 3}),
    ],
)
def test_views_read_the_bytes_of_the_parameter_that_remains(shared, starts):
    shared = tuple(SharedParameter(root, views) for root, views in shared)
    func = with_shared_parameters(doubled, shared)
    views = {index for each in shared for index, _ in each.views}
    names = [str(p.name) for i, p in enumerate(doubled.params) if i not in views]
    assert [str(param.name) for param in func.params] == names
    memory = {name: np.arange(8, dtype=np.int32) * factor for factor, name in enumerate("abc", 1)}
    shapes = {str(param.name): [int(extent) for extent in param.shape] for param in doubled.params}
    # The parameter that remains is the start of a longer memory.
    given = {name: tvm.runtime.tensor(memory[name]) for name in names if name != "out"}
    given["out"] = tvm.runtime.tensor(np.zeros(4, np.int32))
    views = {n: given[n]._create_view(shapes[n]) for n in names}
    tvm.compile(func, "llvm")(*(views[name] for name in names))
    root = {name: memory["a"][start:] for name, start in starts.items()}
    a, b, c = ({**memory, **root}[name][:4] for name in "abc")
    np.testing.assert_array_equal(given["out"].numpy(), a + 2 * b + 3 * c)
