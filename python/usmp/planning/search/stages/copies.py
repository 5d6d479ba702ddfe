"""The copies of parts of tensors that a main function makes or elides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from tvm.ir import IRModule

from usmp.names import COPIES, ORDER
from usmp.planning.search.choice import Choice
from usmp.planning.search.last_module import LastModule
from usmp.planning.search.race import Race
from usmp.planning.search.stage import Stage

_MOST_TRIALS = 8
"""Most choices of copies that are planned."""

_FIRST_TRIALS = 3
"""Choices that come first: the default, all copies elided, no copy elided."""


@dataclass(frozen=True)
class Copies:
    """A main function with some copies of parts of tensors.

    Parameters
    ----------
    mod
        the module with these copies.
    groups
        group of each copy that could be made, by position. Copies of one group copy parts of the
        same tensors.
    elided
        positions of the copies that are not made.
    """

    mod: IRModule
    groups: Sequence[int]
    elided: frozenset[int]


MakeCopies = Callable[[Collection[int] | None], Copies]
"""Makes the main function without the copies at some positions, where that is possible. With
None, it leaves out the copies that do not lower the live bytes."""


class CopyStage(Stage):
    """The choice of the parts of tensors that the main PrimFunc copies.

    If the copy of a part is elided, the whole tensor stays live. Whether this takes more memory
    depends on overlaps, so some choices are planned; one of them makes all copies. The value is the
    set of elided copies. Of two equal plans, the one with fewer copies is taken.

    Parameters
    ----------
    versions
        takes a module with a Relax `main` that calls operators, and returns the function that makes
        versions of its main PrimFunc.
    how
        key of the parameters of `versions`, besides the module.
    """

    name = COPIES
    pass_name = "usmp.LowerMain"
    is_in_reference = True
    decides = frozenset({ORDER})

    def __init__(self, versions: Callable[[IRModule], MakeCopies], how: Hashable) -> None:
        self._versions = LastModule(lambda mod: _Versions(versions(mod)))
        self._how = how

    @property
    def key(self) -> Hashable:
        """The key of the parameters of the versions."""
        return "copies", self._how

    def choices(self, mod: IRModule, race: Race) -> Iterator[Choice]:
        """Yield the default, all copies elided, none elided, then others group by group."""
        versions = self._versions(mod)
        tried: set[frozenset[int]] = set()

        def choice(copies: Copies) -> Iterator[Choice]:
            if copies.elided not in tried:
                tried.add(copies.elided)
                yield _choice(copies)

        default = versions.make(None)
        yield from choice(default)
        if not default.groups or race.is_hopeless:
            return
        for wanted in (range(len(default.groups)), ()):
            yield from choice(versions.make(wanted))
        peaks = {leaf.peaks for leaf in race.leaves}
        if len(peaks) < 2 and None not in peaks:
            return
        for group in list(_groups(default.groups))[: _MOST_TRIALS - _FIRST_TRIALS]:
            elided = race.best.choice.value
            assert isinstance(elided, frozenset)
            other = elided - group if group <= elided else elided | group
            yield from choice(versions.make(other))

    def apply(self, mod: IRModule, choice: Choice) -> IRModule:
        """Return the module with the main PrimFunc in the place of the Relax `main`."""
        assert isinstance(choice.value, frozenset)
        versions = self._versions(mod)
        known = versions.known.get(choice.value)
        return versions.make(sorted(choice.value)).mod if known is None else known.mod


@dataclass
class _Versions:
    """The main functions of a module that were made, by the copies that they elide."""

    maker: MakeCopies
    known: dict[frozenset[int], Copies] = field(default_factory=dict)

    def make(self, wanted: Collection[int] | None) -> Copies:
        copies = self.maker(wanted)
        return self.known.setdefault(copies.elided, copies)


def _choice(copies: Copies) -> Choice:
    elided, all_of_them = len(copies.elided), len(copies.groups)
    label = f"{all_of_them - elided} of {all_of_them} copies" if all_of_them else "no copies"
    return Choice(copies.elided, label, (-elided,))


def _groups(groups: Sequence[int]) -> Iterator[frozenset[int]]:
    """Yield the positions of the copies of each group."""
    for number in dict.fromkeys(groups):
        yield frozenset(index for index, group in enumerate(groups) if group == number)
