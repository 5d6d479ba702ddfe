"""Alternative main functions of a model, with different elided copies."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tvm.ir import IRModule

from usmp.aot.accelerator_devices import pass_devices
from usmp.aot.main_versions import MainVersions
from usmp.objects.attributes.module_attributes import OUTPUT_NAMES_ATTR
from usmp.planning.search.stages import Copies
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.qdq.io_quantization import attach_quantization, io_quantization


class MainCandidates:
    """Modules of the same operators with different main functions.

    Parameters
    ----------
    mod
        a module of flat operator PrimFuncs, and a Relax `main` that calls them (see `LowerMain`).
    finish
        completes each module.

    Raises
    ------
    UnsupportedModelError, ValueError
        see `LowerMain`.
    """

    def __init__(self, mod: IRModule, finish: Callable[[IRModule], IRModule] | None = None) -> None:
        main = main_function(mod)
        names = OUTPUT_NAMES_ATTR.of(main)
        self._versions = MainVersions(mod, [str(name) for name in names] if names else None)
        self._quantization = io_quantization(main)
        self._finish = finish

    def make(self, wanted: Collection[int] | None) -> Copies:
        """Return the module with the `wanted` copies elided; see
        `usmp.planning.search.stages.CopyStage`."""
        mod, copies = self._versions.version(wanted)
        mod = pass_devices(attach_quantization(mod, self._quantization))
        return Copies(
            mod if self._finish is None else self._finish(mod),
            [copy.group for copy in copies],
            frozenset(index for index, copy in enumerate(copies) if copy.is_elided),
        )
