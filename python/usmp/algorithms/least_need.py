"""A lower bound that exceeds the pools, known before any plan is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from usmp_solver import Pool


@dataclass(frozen=True)
class LeastNeed:
    """Bytes that every plan needs, which are more than the pools have.

    Parameters
    ----------
    needed_bytes
        a lower bound: no order of the operators, and nothing else that planning chooses, needs
        less.
    available_bytes
        of the pools: of the largest one if one buffer needs the bytes, else of all.
    pools
        that may hold them.
    holds
        what needs the bytes: "the model", "the constants", "the states" or "inputs and outputs".
    is_one_buffer
        whether one buffer needs all of them.
    is_of_all_forms
        whether each form of the model that is compared needs as much (as with channels first and
        last), or only the one that was taken.
    largest
        the buffer that needs most of them, and how many; None if that is not known.
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
        """False: a plan may need more bytes."""
        return False

    @property
    def smallest_pool_bytes(self) -> dict[str, int]:
        """No size is known with which there is a plan."""
        return {}

    def text(self) -> str:
        """Return what does not fit and what to do, in words of size hints of memory pools."""
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
        """Return the same in words of the memories of a board.

        Parameters
        ----------
        board
            its name.
        memory
            from the name of a pool to the memory that it lies in.
        """
        named = [f"{memory(pool.name)} has {pool.limit} bytes for pools" for pool in self.pools]
        if len(named) == 1:
            named[0] += f", at least {self.needed_bytes - self.available_bytes} too few"
        return "; ".join(
            [
                f"the model does not fit board {board}: {self._needs()}",
                *named,
                "choose other memories or a smaller model; to learn how many bytes are enough, "
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
        return f"{text}; the largest buffer is {name} (at least {size} bytes)"
