"""Build a model that is made in Python, print its plan, and run its C on this host.

The model is a Relax module of two dense layers, made with TVM's `relax.frontend.nn`. `usmp.build`
makes C with planned memory from it; `factory.run` compiles that C with this host's compiler.

    python examples/02_build_a_model.py
"""

import numpy as np
from tvm.relax.frontend import nn

import usmp


class Classifier(nn.Module):
    def __init__(self):
        self.hidden = nn.Linear(16, 32)
        self.scores = nn.Linear(32, 4)

    def forward(self, features: nn.Tensor):
        return nn.softmax(self.scores(nn.relu(self.hidden(features))))


mod, parameters = Classifier().export_tvm(
    spec={"forward": {"features": nn.spec.Tensor([1, 16], "float32")}}
)
# usmp compiles the function called "main".
mod["main"] = mod["forward"].with_attr("global_symbol", "main")
del mod["forward"]

generator = np.random.default_rng(0)
weights = {
    name: generator.normal(size=parameter.shape).astype("float32") for name, parameter in parameters
}
factory = usmp.build(mod, params=weights, module_name="classifier")
print(repr(factory))
for buffer in factory.memory_plan.buffers:
    place = f"{buffer.pool_name}[{buffer.byte_offset}]"
    print(f"{place:30} {buffer.size_bytes:4} bytes  {buffer.name}")

outputs = factory.run({"features": np.ones((1, 16), "float32")})
print(outputs["output"].argmax(), outputs["output"].sum())
