"""Aliases of outputs: TVM 0.18 called them `output_0`, `output_1`, ..."""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.support.text.plain_text import shown

if TYPE_CHECKING:
    import numpy as np

    from usmp.runtime import HostEntry


class Outputs(dict[str, "np.ndarray"]):
    """The arrays of a model's outputs by name, with the aliases `output_0`, ...

    Parameters
    ----------
    arrays
        results of a run by name: the outputs in the order of the model, then other tensors.
    count
        number of outputs among the arrays; all by default.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], count: int | None = None) -> None:
        super().__init__(arrays)
        self.aliases = output_aliases(list(arrays), count)

    def __missing__(self, name: str) -> np.ndarray:
        if name not in self.aliases:
            raise KeyError(name)
        return self[self.aliases[name]]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.aliases

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        """Return the names in the model. The aliases are members too."""
        return _Names(self)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the output of a name or alias, or `default` if there is none."""
        return super().get(self.aliases.get(name, name), default)

    def under_all_names(self) -> dict[str, np.ndarray]:
        """Return the arrays by their names in the model, then by their aliases."""
        return {**self, **{alias: self[name] for alias, name in self.aliases.items()}}


class _Names(KeysView[str]):
    """A keys view of outputs that prints names only, as the keys view of a dict does."""

    def __init__(self, outputs: Outputs) -> None:
        super().__init__(outputs)
        self._outputs = outputs

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._outputs)

    def __repr__(self) -> str:
        return f"dict_keys({list(self)})"


def output_aliases(names: Sequence[str], count: int | None = None) -> dict[str, str]:
    """Return the names of outputs in the model, by the aliases that TVM 0.18 had.

    An alias that is also the name of a tensor in the model is left out.

    Parameters
    ----------
    names
        names of all results of a run, outputs first.
    count
        number of outputs among the names; all by default.
    """
    aliases = {f"output_{index}": name for index, name in enumerate(names[:count])}
    return {alias: name for alias, name in aliases.items() if alias not in names}


def load_outputs(path: str, entry: HostEntry) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file of outputs, by their names in the model.

    Names `output_0`, ..., as `tvmc run --outputs` and TVM 0.18 write them, are aliases. Names
    that are neither aliases nor in the model stay unchanged.

    Raises
    ------
    UsageError
        the file cannot be read, or has two different arrays for an output.
    """
    from usmp.driver.run.tensors import load_tensors, member_names

    names = list(entry.results)
    aliases = output_aliases(names, len(entry.outputs))
    written = dict(zip(member_names([*names, *aliases]), [*names, *aliases.values()], strict=True))
    known = {**written, **{name: name for name in names}}
    arrays: dict[str, np.ndarray] = {}
    for member, array in load_tensors(path).items():
        name = known.get(member, member)
        if name in arrays and not _are_equal(arrays[name], array):
            raise UsageError(
                f'{path} has two arrays for output "{shown(name)}" that differ, one of them as '
                f'"{shown(member)}"; leave one out'
            )
        arrays[name] = array
    return arrays


def _are_equal(a: np.ndarray, b: np.ndarray) -> bool:
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
