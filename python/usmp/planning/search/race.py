"""The comparison of the choices of one stage by their plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.planning.options import PLANNING_OPTION_NAMES, PlanningOptions
from usmp.planning.search.choice import Allowance, Choice
from usmp.planning.search.leaf import Leaf, best_leaf, memory_limit
from usmp.planning.search.memories import with_memories, without_memories
from usmp.planning.search.stage import Stage
from usmp.planning.session import Peaks, PlanningSession
from usmp.planning.session_keys import all_attributes_key, context_key
from usmp.planning.streaming.lower_bound import least_need
from usmp.support.tvm_errors import lowering
from usmp.tir.spans import functions_with_spans


class Race:
    """The choices of a stage for one module, planned one after the other.

    Parameters
    ----------
    stage
        the stage that decides.
    mod
        the module that it rewrites.
    session
        remembers plans, and has the deadline.
    options
        options of the plans.
    lower
        lowers a module with a choice to the module that is planned.

    Attributes
    ----------
    mod
        the module that the stage rewrites: in Relax, without the attributes of planning.
    leaves
        the choices that were planned, refused, or proved to be worse, in their order.
    facts
        results of the stage, for `Stage.details`.
    """

    def __init__(
        self,
        stage: Stage,
        mod: IRModule,
        session: PlanningSession,
        options: PlanningOptions,
        lower: Callable[[IRModule], IRModule] = lambda mod: mod,
    ) -> None:
        self.stage = stage
        self.mod = without_memories(mod) if stage.rewrites_model else mod
        self._given = mod
        self.session = session
        self.options = options
        self.leaves: list[Leaf] = []
        self.facts: dict[str, Any] = {}
        self._lower = lower
        self._first: Choice | None = None
        self._best = 0

    def run(self) -> Race:
        """Plan the choices until the deadline, if there are several.

        Raises
        ------
        UnsupportedModelError, ValueError
            every choice is refused (the error is that of the first choice); or the stage does not
            rewrite Relax, and any choice is refused.
        """
        for choice in self.stage.choices(self.mod, self):
            if self._first is None:
                self._first = choice
                continue
            if not self.has_time():
                break
            if not self.leaves:
                self._plan_first()
                if not self.has_time():
                    break
            self._plan(choice)
        if self.leaves and self.best.error is not None:
            raise self.leaves[0].error or self.best.error
        return self

    def take_first(self) -> None:
        """Take the first choice, without a comparison."""
        self._first = next(iter(self.stage.choices(self.mod, self)), None)

    def fix(self, label: str) -> None:
        """Take the choice with a label, without a comparison; the first one if none has it."""
        for choice in self.stage.choices(self.mod, self):
            self._first = self._first or choice
            if choice.label == label:
                self._first = choice
                return

    @property
    def best(self) -> Leaf:
        """The best leaf so far. If no choice was planned yet, the first one is planned."""
        self._plan_first()
        return self.leaves[self._best]

    def lowered_first(self) -> IRModule:
        """Return the module that would be planned for the first choice."""
        assert self._first is not None
        return self._lower(self._made(self._first))

    @property
    def is_hopeless(self) -> bool:
        """Whether a lower bound proves that the module with the first choice does not fit."""
        assert self._first is not None
        first = self._made(self._first)
        return least_need(self.session, first, self.options) is not None

    @property
    def taken(self) -> Choice | None:
        """The best choice; None if the stage has none for the module."""
        return self.leaves[self._best].choice if self.leaves else self._first

    def result(self) -> IRModule:
        """Return the module with the best choice."""
        if self.leaves:
            best_mod = self.leaves[self._best].mod
            assert best_mod is not None
            return best_mod
        return self._given if self._first is None else self._made(self._first)

    def has_time(self) -> bool:
        """Return whether another choice may be planned; the session notes the stage if not."""
        return self.session.has_time(self.stage.name)

    def _plan_first(self) -> None:
        if not self.leaves and self._first is not None:
            self._plan(self._first)

    def _plan(self, choice: Choice) -> None:
        self.leaves.append(self._leaf(choice))
        self._best = self._position_of_best(self.leaves)

    def _position_of_best(self, leaves: Sequence[Leaf]) -> int:
        return best_leaf(leaves, self.stage.allowance, self.options.optimize)

    def _leaf(self, choice: Choice) -> Leaf:
        if self._is_out(choice):
            return Leaf(choice, None)
        try:
            chosen = self._made(choice)
            lowered = self._lower(chosen)
            limit = None if self.stage.rewrites_model else self._limit()
            peaks = self.session.peaks(lowered, self.options, limit)
            low = None
            if peaks is None and limit is not None:
                low = self.session.low_above(lowered, self.options, limit)
            return Leaf(choice, chosen, lowered, peaks, low)
        except ValueError as error:
            if not self.stage.rewrites_model:
                raise
            return Leaf(choice, None, error=error)

    def _made(self, choice: Choice) -> IRModule:
        mod = self.mod

        def make() -> IRModule:
            with lowering() if self.stage.rewrites_model else nullcontext():
                return functions_with_spans(mod, self.stage.apply(mod, choice))

        context = context_key(PassContext.current(), without=PLANNING_OPTION_NAMES)
        key = "made", self.stage.key, choice.value, context, all_attributes_key(mod)
        return with_memories(self.session.once(key, mod, make), self._given)

    def _is_out(self, choice: Choice) -> bool:
        """Return whether the bound of a choice proves that it cannot become the best."""
        if not (self.leaves and choice.bound_bytes) or self.stage.allowance is not Allowance.LEAST:
            return False
        best = self.leaves[self._best].peaks
        if best is None or len(best) != 1:
            return False
        as_bound = Leaf(choice, None, peaks=(choice.bound_bytes,))
        return self._position_of_best([*self.leaves, as_bound]) != len(self.leaves)

    def _limit(self) -> Peaks | None:
        """Return peaks that a better plan does not exceed; None without a plan to compare with."""
        known = [leaf.peaks for leaf in self.leaves if leaf.peaks is not None]
        if not known:
            return None
        if self.stage.allowance is Allowance.WITHIN:
            return memory_limit(self.options.optimize, min(known))
        return self.leaves[self._best].peaks
