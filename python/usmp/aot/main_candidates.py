"""The main functions that a model could be built with, copies made or not."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tvm.ir import IRModule

from usmp.aot.accelerator_devices import pass_devices
from usmp.aot.main_versions import MainVersions
from usmp.planning.candidates import Copies
from usmp.relax.io_quantization import IOQuantization, attach_quantization


@dataclass(frozen=True)
class LoweredOperators:
    """A model with lowered operators, and what its main function is to be made of.

    Parameters
    ----------
    mod
        flat operator PrimFuncs, and a Relax `main` that calls them (see `lower_main`).
    output_names
        of the model; None if it does not tell them.
    quantization
        of inputs and outputs.
    """

    mod: IRModule
    output_names: list[str] | None
    quantization: IOQuantization


class MainCandidates:
    """Modules of the same operators with different main functions.

    Parameters
    ----------
    lowered
        the model.
    finish
        what each module still needs.

    Raises
    ------
    UnsupportedModelError, ValueError
        as `lower_main`.
    """

    def __init__(
        self, lowered: LoweredOperators, finish: Callable[[IRModule], IRModule] | None = None
    ) -> None:
        self._versions = MainVersions(lowered.mod, lowered.output_names)
        self._quantization = lowered.quantization
        self._finish = finish

    def make(self, wanted: Collection[int] | None) -> Copies:
        """One of them; see `usmp.planning.candidates.fewest_bytes`."""
        mod, copies = self._versions.version(wanted)
        mod = pass_devices(attach_quantization(mod, self._quantization))
        return Copies(
            mod if self._finish is None else self._finish(mod),
            [copy.group for copy in copies],
            frozenset(index for index, copy in enumerate(copies) if copy.is_elided),
        )
