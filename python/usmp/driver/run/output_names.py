"""What TVM 0.18 called outputs, `output_0`, `output_1`, ..., beside their names in the model."""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usmp.driver.errors import UsageError
from usmp.support.plain_text import shown

if TYPE_CHECKING:
    import numpy as np

    from usmp.runtime import HostEntry


class Outputs(dict[str, "np.ndarray"]):
    """Arrays by the names of a model's outputs, which are found as `output_0`, ... too.

    Parameters
    ----------
    arrays
        what a run gives, by name: the outputs, in the order of the model, then other tensors.
    count
        how many of them are outputs; all by default.
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
        """Return the names in the model, among which `output_0`, ... are found too."""
        return _Names(self)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the output of that name, or `default` if there is none."""
        return super().get(self.aliases.get(name, name), default)

    def under_all_names(self) -> dict[str, np.ndarray]:
        """Return the arrays by their names in the model, and then by their aliases too."""
        return {**self, **{alias: self[name] for alias, name in self.aliases.items()}}


class _Names(KeysView[str]):
    """The names of outputs, shown as the keys of a dictionary are, without the arrays."""

    def __init__(self, outputs: Outputs) -> None:
        super().__init__(outputs)
        self._outputs = outputs

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._outputs)

    def __repr__(self) -> str:
        return f"dict_keys({list(self)})"


def output_aliases(names: Sequence[str], count: int | None = None) -> dict[str, str]:
    """Return the name in the model for each name that TVM 0.18 had for an output.

    A name that a tensor has in the model is no alias.

    Parameters
    ----------
    names
        of all that a run gives, outputs first.
    count
        how many of them are outputs; all by default.
    """
    aliases = {f"output_{index}": name for index, name in enumerate(names[:count])}
    return {alias: name for alias, name in aliases.items() if alias not in names}


def load_outputs(path: str, entry: HostEntry) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file of outputs, by their names in the model.

    Arrays that are called `output_0`, ..., as `tvmc run --outputs` and TVM 0.18 call them, count as
    those outputs. Names that the model does not have are left as they are.

    Raises
    ------
    UsageError
        the file cannot be read, or has two arrays for one output that differ.
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
