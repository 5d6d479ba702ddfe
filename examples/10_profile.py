"""Which operator takes the most? Time on this host, and instructions on a Cortex-M3 in QEMU.

A model that is built with `tir.usmp.debug=profile` calls a function before and after each operator.
`tvmc run --profile` prints a table of what is found here; docs/profiling.md says more.

    python examples/10_profile.py
"""

from pathlib import Path

import numpy as np
from tvm.ir.transform import PassContext

import usmp
from usmp.boards.board import board_named
from usmp.boards.profile_board import profile_on_board
from usmp.runtime import profile_on_host

DIGITS = Path(__file__).parent / "digits"
BOARD = board_named("mps2-an385")  # a Cortex-M3
IMAGE = {"image": np.load(DIGITS / "test_images.npz")["images"][:1]}

with PassContext(config={"tir.usmp.debug": ["profile"]}):
    for_host = usmp.build(DIGITS / "digits_int8.tflite")
    for_board = usmp.build(DIGITS / "digits_int8.tflite", board=BOARD)

host = profile_on_host(for_host.files(), for_host.metadata["modules"]["default"], IMAGE)
board = profile_on_board(for_board.files(), for_board.metadata["modules"]["default"], BOARD, IMAGE)
for here, there in zip(host.operators, board.operators, strict=True):
    print(
        f"{' + '.join(here.kinds):41} {here.macs:7} MACs {here.cost:9.0f} {host.unit} "
        f"{there.cost:9.0f} {board.unit}"
    )
slowest = max(board.operators, key=lambda operator: operator.cost)
print(f"{slowest.functions[0]} takes {slowest.cost / board.cost:.0%} of the instructions")
