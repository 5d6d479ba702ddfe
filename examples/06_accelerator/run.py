"""The digits model with its convolutions on an accelerator that has memory of its own.

It prints where the buffers are placed, and compares the outputs with those of the model without
the accelerator.

    python examples/06_accelerator/run.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import patterns  # noqa: F401  registers what the accelerator takes

import usmp
from usmp import ConstantMemoryPools, ConstantPoolInfo, WorkspaceMemoryPools, WorkspacePoolInfo

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parent / "digits"

# In the order in which they are preferred. Each lists who can reach it.
WORKSPACE = WorkspaceMemoryPools(
    [
        WorkspacePoolInfo("dtcm", ["c"]),
        WorkspacePoolInfo("npu_sram", ["accel"]),
        WorkspacePoolInfo("sram", ["c", "accel"]),
    ]
)
CONSTANTS = ConstantMemoryPools(
    [
        ConstantPoolInfo("itcm", ["c"]),
        ConstantPoolInfo("npu_flash", ["accel"]),
    ]
)


def main() -> None:
    """Build with and without the accelerator, compare."""
    model = usmp.import_model(DIGITS / "digits_int8.tflite")
    plain = usmp.build(model, "c", module_name="digits")
    offloaded = usmp.build(
        model,
        "accel,c",
        workspace_memory_pools=WORKSPACE,
        constant_memory_pools=CONSTANTS,
        module_name="digits",
    )
    for buffer in sorted(offloaded.memory_plan.buffers, key=lambda b: (b.pool_name, b.byte_offset)):
        place = f"{buffer.pool_name}[{buffer.byte_offset}]"
        print(f"{place:18} {buffer.size_bytes:6} bytes  {buffer.function}: {buffer.name}")

    with np.load(DIGITS / "test_images.npz") as data:
        images = data["images"]
    without, with_accelerator = plain.load(), offloaded.load([HERE / "accel.c"])
    same = sum(
        np.array_equal(
            without.run({"image": image[None]})["probabilities"],
            with_accelerator.run({"image": image[None]})["probabilities"],
        )
        for image in images
    )
    print(f"\n{same} of {len(images)} images: the same output with the accelerator as without")


if __name__ == "__main__":
    main()
