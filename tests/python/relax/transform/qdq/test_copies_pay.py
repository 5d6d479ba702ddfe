"""Channels last are preferred where images that are copied to another order are small."""

from __future__ import annotations

import pytest
from tvm import relax

from usmp.relax.transform.qdq.channels_last import copies_pay


def module(extents, *permuted):
    """A sum of a tensor of so many elements and itself, and copies of others in another order."""
    builder = relax.BlockBuilder()
    params = [relax.Var("x", relax.TensorType((extents,), "int8"))]
    params += [
        relax.Var(f"p{n}", relax.TensorType((2, size // 2), "int8"))
        for n, size in enumerate(permuted)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            total = builder.emit(relax.op.add(params[0], params[0]))
            # A view moves nothing.
            viewed = builder.emit(relax.op.reshape(total, (1, extents)))
            copied = [builder.emit(relax.op.permute_dims(param)) for param in params[1:]]
            output = builder.emit_output(relax.Tuple([viewed, *copied]))
        builder.emit_func_output(output)
    return builder.get()


@pytest.mark.parametrize(
    ("before", "after", "pays"),
    [
        # The sum reads twice 64 bytes and writes 64: 24 are an eighth.
        ([], [], True),
        ([], [12], True),
        ([], [14], False),
        ([], [6, 6], True),
        ([12], [24], True),
        # Copies of the module as it is are among what it moves.
        ([12], [28], False),
        ([100], [12], True),
    ],
)
def test_copies_may_be_an_eighth_of_what_operators_move(before, after, pays):
    assert copies_pay(module(64, *before), module(64, *after)) == pays
