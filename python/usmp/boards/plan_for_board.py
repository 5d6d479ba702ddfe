"""PlanForBoard: plan into the memories of a board, with errors in the terms of the board."""

from __future__ import annotations

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.algorithms.does_not_fit import DoesNotFitError
from usmp.boards.board import Board
from usmp.objects import Executor
from usmp.objects.attributes.module_attributes import BOARD_ATTR
from usmp.passes import ModulePass
from usmp.planning.attribute_access import PLANNING
from usmp.planning.state_layout import check_state_layout
from usmp.planning.state_pool import names_of_state_pools
from usmp.transform import UnifiedStaticMemoryPlanner


@tvm.transform.module_pass(opt_level=0, name="usmp.PlanForBoard")
class PlanForBoard(ModulePass):
    """Run `UnifiedStaticMemoryPlanner` on a module whose pools lie in the memories of a board.

    The module gains the attribute `board`, the name of the board.

    Parameters
    ----------
    board
        the board whose memories contain the pools.

    Raises
    ------
    DoesNotFitError
        a pool is too small; the message names the memory, the missing bytes, and the largest
        buffers that are live together.
    ValueError
        as in `UnifiedStaticMemoryPlanner`.
    """

    writes = (BOARD_ATTR,)
    uses = (PLANNING,)

    def __init__(self, board: Board) -> None:
        self.board = board

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Place every allocation."""
        # Check the states first, because their errors do not depend on the sizes of memories.
        check_state_layout(mod, names_of_state_pools(mod))
        try:
            return UnifiedStaticMemoryPlanner()(BOARD_ATTR.put(mod, self.board.name))
        except DoesNotFitError as error:
            raise error.for_board(self.board.name, self.board.memory) from error


def check_board_executor(board: Board, executor: Executor) -> None:
    """Raise ValueError for the packed interface, which programs for boards cannot have."""
    if executor.is_packed:
        raise ValueError(
            f"the packed interface needs TVM's runtime, which a program for board {board.name} "
            "lacks; use interface-api c"
        )
