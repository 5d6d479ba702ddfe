"""PlanForBoard: into a board's memories, and in the board's words what does not fit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import tvm
from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.algorithms.does_not_fit import DoesNotFitError, text_for_board
from usmp.boards.board import Board
from usmp.objects import Executor
from usmp.objects.attributes import BOARD_ATTR
from usmp.passes import ModulePass
from usmp.planning.options import planning_options
from usmp.planning.session import planning_session
from usmp.planning.state_layout import check_state_layout
from usmp.planning.state_pool import names_of_state_pools
from usmp.planning.streaming.least_need import least_need
from usmp.transform import UnifiedStaticMemoryPlanner


@tvm.transform.module_pass(opt_level=0, name="usmp.PlanForBoard")
class PlanForBoard(ModulePass):
    """`UnifiedStaticMemoryPlanner` for a module whose pools lie in the memories of a board.

    The module gains the attribute `board`, the board's name.

    Parameters
    ----------
    board
        whose memories they are.

    Raises
    ------
    ValueError
        as `UnifiedStaticMemoryPlanner`; if something does not fit, it names the memory,
        the bytes that are missing, and the largest buffers that are live together.
    """

    def __init__(self, board: Board) -> None:
        self.board = board

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Place every allocation."""
        # States that differ are no matter of the board's size.
        check_state_layout(mod, names_of_state_pools(mod))
        mod, board = mod.with_attr(BOARD_ATTR, self.board.name), self.board
        with planning_session() as session:
            try:
                return UnifiedStaticMemoryPlanner()(mod)
            except ValueError as error:
                # Of an error that leaves a pass only the text is left; the session has the data.
                options = planning_options(context.config)
                misfit = session.misfit(mod, options)
                need = least_need(session, mod, options)
                if need is not None:
                    misfit = DoesNotFitError(partial(replace, need))
                if misfit is None:
                    raise
                text = text_for_board(
                    misfit.does_not_fit, misfit.solution, board.name, board.memory
                )
                raise ValueError(text) from error


def check_board_executor(board: Board, executor: Executor) -> None:
    """Refuse an interface that programs for boards cannot have.

    Raises
    ------
    ValueError
        the packed interface.
    """
    if executor.is_packed:
        raise ValueError(
            f"the packed interface needs TVM's runtime, which a program for board {board.name} "
            "lacks; use interface-api c"
        )
