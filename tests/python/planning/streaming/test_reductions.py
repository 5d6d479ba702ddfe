"""What makes an image and what reduces all of it run interleaved, so that no image is there."""

from __future__ import annotations

import pytest
from tvm import relax
from tvm.ir.transform import PassContext

from usmp.build_module import build

ENDINGS = {
    "mean": lambda x: relax.op.mean(x, [1, 2]),
    "average pool": lambda x: relax.op.nn.avg_pool2d(x, (9, 4), (9, 4), layout="NHWC"),
    "max": lambda x: relax.op.max(x, [1, 2]),
}


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_rows_of_an_image_are_reduced_when_they_are_made(ending, model, random_array):
    weights = random_array(1, 1, 2, 32)

    def body(b, x):
        layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
        return ending(b.emit(relax.op.nn.conv2d(x, relax.const(weights), **layouts)))

    mod = model(body, ("x", (1, 9, 4, 2), "float32"))
    data = random_array(1, 9, 4, 2)
    peaks, outputs = [], []
    for is_streamed in (False, True):
        with PassContext(disabled_pass=[] if is_streamed else ["StreamOperators"]):
            built = build(mod)
        peaks.append(built.interface.workspace_size_bytes)
        outputs.append([value.tobytes() for value in built.run({"x": data}).values()])
    image, row, accumulators = 9 * 4 * 32 * 4, 4 * 32 * 4, 32 * 4
    assert peaks == [image, row + accumulators]
    assert outputs[0] == outputs[1]
