"""A decision of the search: its values, and the rewrite by a value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from tvm.ir import IRModule

from usmp.objects.attribute import Attributes
from usmp.objects.compared import Compared
from usmp.planning.search.choice import Allowance, Choice
from usmp.planning.search.record import compared_leaves

if TYPE_CHECKING:
    from usmp.planning.search.race import Race


class Stage(ABC):
    """A decision of the search.

    Attributes
    ----------
    name
        one of `usmp.names.STAGES`.
    pass_name
        the pass that PassInstruments see in its place.
    is_optional
        whether `disabled_pass` may have that name: then the module stays as it is.
    is_in_reference
        whether a reference build (`usmp.reference_build`) has the stage, too.
    allowance
        which of the planned choices is taken.
    rewrites_model
        whether choices are forms of the model in Relax. Then all of them are planned, and one that
        a later pass refuses is left out. Otherwise, choices are skipped that a lower bound proves
        to be worse, and an error ends the search.
    decides
        names of later stages that are decided for each choice before it is planned; other stages
        take their first choice.
    reads, writes
        the attributes of the IR that it reads and writes itself, not in passes that it runs, nor in
        the search. A stage that PassInstruments see as a pass of `usmp.transform` or
        `usmp.relax.transform` also reads and writes what that declares.
    """

    name: ClassVar[str]
    pass_name: ClassVar[str]
    is_optional: ClassVar[bool] = True
    is_in_reference: ClassVar[bool] = False
    allowance: ClassVar[Allowance] = Allowance.LEAST
    rewrites_model: ClassVar[bool] = False
    decides: ClassVar[frozenset[str]] = frozenset()
    reads: ClassVar[Attributes] = ()
    writes: ClassVar[Attributes] = ()

    @property
    def key(self) -> Hashable:
        """What tells the stage from others that rewrite a module in another way by a value."""
        return type(self).__qualname__

    @abstractmethod
    def choices(self, mod: IRModule, race: Race) -> Iterable[Choice]:
        """Yield the choices for a module.

        The first one is taken if there is no time, or if no other one follows: mostly the module as
        it is. Labels of choices differ.

        Parameters
        ----------
        mod
            the module that the stage rewrites.
        race
            the choices that were planned so far. The first one is planned when a second one is
            yielded, or when `race.best` is read, which is possible once it was yielded.

        Raises
        ------
        ValueError
            the planner refuses the module.
        """

    @abstractmethod
    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Return the module with a value; of a value that changes nothing, the module itself.

        Raises
        ------
        UnsupportedModelError, ValueError
            the module has no such form.
        """

    def details(self, race: Race) -> dict[str, Any]:
        """Return facts about what was compared, as plain data; see `Compared.details`."""
        return {}

    def compared(self, race: Race) -> Compared | None:
        """Return the line of the record; None if there was nothing to choose."""
        return compared_leaves(race, self.details(race))


def stage_classes() -> Iterator[type[Stage]]:
    """Yield the stages of all modules that are loaded."""
    pending = Stage.__subclasses__()
    while pending:
        found = pending.pop()
        pending += found.__subclasses__()
        if hasattr(found, "pass_name"):
            yield found
