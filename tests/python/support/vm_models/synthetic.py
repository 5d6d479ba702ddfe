"""A Relax function of any number of tensors, of several sizes, each made from two earlier ones."""

from __future__ import annotations

from random import Random

import tvm
from tvm import relax, te

OPAQUE = 8
"""Of `OpPatternKind`: operators that are not fused."""

SIZES = (256, 512, 768, 1024, 2048, 4096)


def many_tensors(number: int, seed: int = 0) -> tvm.IRModule:
    """`main` takes and returns 1024 floats.

    A tensor is the sum of the one before it and of one of the dozen before that, of any of `SIZES`:
    element-wise where all three sizes are equal, else both are read again from the beginning where
    they are too small.
    """
    random = Random(seed)
    data = relax.Var("data", relax.TensorType((1024,), "float32"))
    values, sizes = [data], [1024]
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            for count in range(number):
                is_last = count + 1 == number
                other = random.randrange(max(0, count - 12), count + 1)
                # Half of them have the size of the one before.
                size = random.choice([sizes[-1]] * len(SIZES) + [*SIZES])
                size = 1024 if is_last else size
                call = builder.call_te(
                    *(_sum, values[-1], values[other], size),
                    primfunc_name_hint="sum",
                    primfunc_attrs={"op_pattern": OPAQUE},
                )
                values.append(builder.emit_output(call) if is_last else builder.emit(call))
                sizes.append(size)
        builder.emit_func_output(values[-1])
    return builder.get()


def _sum(one: te.Tensor, other: te.Tensor, size: int) -> te.Tensor:
    def read(data: te.Tensor, i: tvm.tirx.Var) -> tvm.tirx.Expr:
        return data[i] if data.shape[0] >= size else data[i % data.shape[0]]

    return te.compute((size,), lambda i: read(one, i) + read(other, i), name="sum")
