"""A decision of the search: its values, and the rewrite of a module by a value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from tvm.ir import IRModule

from usmp.objects.attributes.attribute import Attributes
from usmp.objects.attributes.compared import Compared
from usmp.planning.search.choice import Allowance, Choice
from usmp.planning.search.record import compared_leaves
from usmp.support.reachable import reachable

if TYPE_CHECKING:
    from usmp.planning.search.race import Race


class Stage(ABC):
    """A decision of the search.

    Attributes
    ----------
    name
        one of `usmp.names.STAGES`.
    pass_name
        name of the pass that PassInstruments see for the stage. `disabled_pass` may name it if it
        is one of `usmp.names.OPTIONAL_PASSES`; the module then stays as it is.
    is_in_reference
        whether a reference build (`usmp.reference_build`) also has the stage.
    allowance
        the rule by which one of the planned choices is taken.
    rewrites_model
        whether choices are forms of the model in Relax. If so, all are planned, and a form that a
        later pass refuses is left out. Otherwise, choices that a lower bound proves to be worse are
        skipped, and an error ends the search.
    decides
        names of later stages that are decided for each choice before it is planned; other stages
        take their first choice.
    reads, writes
        the attributes of the IR that the stage itself reads and writes, without those of its passes
        and of the search. A stage that does the work of a pass of `usmp.transform` or
        `usmp.relax.transform` also reads and writes the attributes that the pass declares.
    """

    name: ClassVar[str]
    pass_name: ClassVar[str]
    is_in_reference: ClassVar[bool] = False
    allowance: ClassVar[Allowance] = Allowance.LEAST
    rewrites_model: ClassVar[bool] = False
    decides: ClassVar[frozenset[str]] = frozenset()
    reads: ClassVar[Attributes] = ()
    writes: ClassVar[Attributes] = ()

    @property
    def key(self) -> Hashable:
        """A key that distinguishes stages that rewrite a module differently by the same value."""
        return type(self).__qualname__

    @abstractmethod
    def choices(self, mod: IRModule, race: Race) -> Iterable[Choice]:
        """Yield the choices for a module.

        The first choice, mostly the unchanged module, is taken if there is no time or no other
        choice. Labels of choices differ.

        Parameters
        ----------
        mod
            the module that the stage rewrites.
        race
            the choices that were planned so far. The first one is planned when the second one is
            yielded, or when `race.best` is read, which is possible after the first was yielded.

        Raises
        ------
        ValueError
            the planner refuses the module.
        """

    @abstractmethod
    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Return the module with a value; return the module itself if nothing changes.

        Raises
        ------
        UnsupportedModelError, ValueError
            the module cannot be rewritten by this value.
        """

    def details(self, race: Race) -> dict[str, Any]:
        """Return facts about the comparison, as plain data; see `Compared.details`."""
        return {}

    def compared(self, race: Race) -> Compared | None:
        """Return the line of the search record; None for one choice without details."""
        return compared_leaves(race, self.details(race))


def stage_classes() -> list[type[Stage]]:
    """Return the stage classes of this package in all Python modules that are loaded."""
    classes = reachable(Stage.__subclasses__(), lambda cls: cls.__subclasses__())
    return [c for c in classes if c.__module__.startswith("usmp.") and hasattr(c, "pass_name")]
