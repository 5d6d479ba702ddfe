"""Two functions of one model, which share a state: one memory plan, one archive, one address.

`listen` keeps the last four inputs, and adds the newest one; `recall` reads what is kept. Each of
them is an entry: a function that an application calls. Their buffers share bytes, since they
run in turn; the state is never planned over.

    python examples/08_entries.py
"""

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

import usmp

ZERO = tvm.runtime.tensor(np.float32(0))
CHANGED = [usmp.StateInfo("kept", 1, ZERO)]
READ = [usmp.StateInfo("kept", -1, ZERO)]
GENERATOR = np.random.default_rng(0)
WIDE = GENERATOR.standard_normal((8, 32)).astype("float32")
NARROW = GENERATOR.standard_normal((32, 1)).astype("float32")


@I.ir_module
class Memory:
    @R.function
    def listen(x: R.Tensor((1, 8), "float32"), kept: R.Tensor((4, 8), "float32")):
        R.func_attr({"states": CHANGED})
        with R.dataflow():
            rows = R.concat((kept, x), axis=0)
            newest = R.strided_slice(rows, axes=[0], begin=[1], end=[5])
            hidden = R.nn.relu(R.matmul(rows, R.const(WIDE)))
            score = R.mean(R.matmul(hidden, R.const(NARROW)))
            R.output(score, newest)
        return (score, newest)

    @R.function
    def recall(weights: R.Tensor((1, 4), "float32"), kept: R.Tensor((4, 8), "float32")):
        R.func_attr({"states": READ})
        return R.matmul(weights, kept)


with tvm.transform.PassContext(config={"tir.usmp.algorithm": "auto"}):
    factory = usmp.build(Memory, module_name="memory")
print(repr(factory))
for buffer in sorted(factory.memory_plan.buffers, key=lambda b: (b.pool_name, b.byte_offset)):
    place = f"{buffer.pool_name}[{buffer.byte_offset}]"
    print(f"{place:28} {buffer.size_bytes:4} bytes  {buffer.name}")

for value in (1, 2, 3):
    factory.run({"x": np.full((1, 8), value, "float32")}, entry="listen")
weights = np.array([[1, 10, 100, 1000]], "float32")
print(factory.run({"weights": weights}, entry="recall")["output"][0, 0])
