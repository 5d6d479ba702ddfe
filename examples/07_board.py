"""Compile a model for a board, run it in QEMU, and compare it with a build without optimizations.

`board=` places the pools in the memories of the board and adds a project to the archive.
`EmulatedModule` builds the project with the board's compiler and runs it in the board's emulator.
`reference=True` adds a build without kernels, streaming, pruning or overlap, which gives the
outputs to expect on this host. `tvmc run --board` does the same. docs/boards.md lists the packages
that this needs.

    python examples/07_board.py
"""

from pathlib import Path

import numpy as np

import usmp
from usmp.boards.board import board_named
from usmp.boards.emulator import EmulatedModule
from usmp.boards.report import print_board_report

DIGITS = Path(__file__).parent / "digits"
BOARD = board_named("mps3-an547")  # a Cortex-M55

factory = usmp.build(DIGITS / "digits_int8.tflite", board=BOARD, reference=True)
program = EmulatedModule(factory.files(), factory.metadata["modules"]["default"], BOARD)

images = np.load(DIGITS / "test_images.npz")["images"][:10, np.newaxis]
runs = program.run([{"image": image} for image in images])
print_board_report(BOARD, runs, program.sections())

reference = factory.load_reference()
same = sum(
    np.array_equal(outputs["probabilities"], reference.run({"image": image})["probabilities"])
    for image, outputs in zip(images, runs.outputs, strict=True)
)
print(f"{same} of {len(images)} images: the same output on the board as of the reference")
