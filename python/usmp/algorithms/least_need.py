"""A lower bound that exceeds the pools, computed before any plan is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from usmp_solver import Pool


@dataclass(frozen=True)
class LeastNeed:
    """A lower bound of the bytes of every plan that exceeds the bytes of the pools.

    Parameters
    ----------
    needed_bytes
        a lower bound over all orders of operators and all other decisions of planning.
    available_bytes
        bytes of the largest pool if one buffer needs the bytes, else of all pools.
    pools
        pools that may hold the bytes.
    holds
        text of what needs the bytes: "the model", "the constants", "the states" or "inputs and
        outputs".
    is_one_buffer
        whether a single buffer needs all of the bytes.
    is_of_all_forms
        whether the bound holds for all forms of the model that are compared (such as channels first
        and last), or only for the chosen one.
    largest
        name and bytes of the largest buffer; None if unknown.
    """

    needed_bytes: int
    available_bytes: int
    pools: tuple[Pool, ...]
    holds: str = "the model"
    is_one_buffer: bool = False
    is_of_all_forms: bool = True
    largest: tuple[str, int] | None = None

    @property
    def is_exact(self) -> bool:
        """False, because a plan may need more bytes."""
        return False

    @property
    def smallest_pool_bytes(self) -> dict[str, int]:
        """Empty, because no size is known with which there is a plan."""
        return {}

    def text(self) -> str:
        """Return the text of the error, with advice about size hints of memory pools."""
        named = [f'  pool "{pool.name}": size_hint_bytes={pool.limit}' for pool in self.pools]
        return "\n".join(
            [
                "TVM USMP Error: the space available in the provided pools exceeded: "
                f"{self._needs()}",
                *named,
                f"No plan{'' if self.is_of_all_forms else ' of this form'} was searched, because "
                "none can fit. Please increase the size_hints for memory pools. To learn how many "
                "bytes are enough, compile without size_hints: the summary has the bytes that each "
                "pool needs.",
            ]
        )

    def text_for_board(self, board: str, memory: Callable[[str], object]) -> str:
        """Return the text of the error, in words of the memories of a board.

        Parameters
        ----------
        board
            name of the board.
        memory
            returns the memory that contains a pool, by its name.
        """
        named = [f"{memory(pool.name)} has {pool.limit} bytes for pools" for pool in self.pools]
        if len(named) == 1:
            named[0] += f", at least {self.needed_bytes - self.available_bytes} too few"
        return "\n".join(
            [
                f"the model does not fit board {board}: {self._needs()}",
                *named,
                "Choose other memories or a smaller model. To learn how many bytes are enough, "
                "compile without a board",
            ]
        )

    def _needs(self) -> str:
        verb = "needs" if self.holds == "the model" else "need"
        place = " of one pool" if self.is_one_buffer and len(self.pools) > 1 else ""
        form = "" if self.is_of_all_forms else ", in the form that was taken,"
        needs = f"{self.holds}{form} {verb} at least {self.needed_bytes} bytes{place}"
        text = f"{needs}, but there are {self.available_bytes}"
        if self.largest is None:
            return text
        name, size = self.largest
        return f"{text}. The largest buffer is {name} (at least {size} bytes)"
