"""PartitionForAccelerators: accelerators get the operators that their patterns match."""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import relax
from tvm.ir import IRModule

from usmp.objects.attributes.module_attributes import SIZE_BOUNDS
from usmp.ops.records.attributes import OPERATOR_ATTR
from usmp.passes import ModulePass
from usmp.relax.accelerators.patterns import matching_in, patterns_of
from usmp.relax.grouped_spans import with_grouped_spans
from usmp.relax.static_shapes import main_function
from usmp.relax.symbolic_sizes import size_variables
from usmp.relax.transform.fold_constants import FoldConstants
from usmp.support.errors import UnsupportedModelError


@tvm.transform.module_pass(opt_level=0, name="usmp.PartitionForAccelerators")
class PartitionForAccelerators(ModulePass):
    """Move each match of a registered pattern to a Relax function with the attribute `Codegen`.

    The patterns of an accelerator are those of `tvm.relax.backend.pattern_registry` whose names
    begin with its name and a point. Constants in a match become part of its function.

    Parameters
    ----------
    accelerators
        names of accelerators, in order of priority.

    Raises
    ------
    UnsupportedModelError
        there are accelerators, and the model has symbolic sizes.
    """

    reads = (
        *SIZE_BOUNDS,
        OPERATOR_ATTR,
    )

    def __init__(self, accelerators: Sequence[str] = ()) -> None:
        self.accelerators = tuple(accelerators)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Partition `main`."""
        if self.accelerators and size_variables(main_function(mod)):
            raise UnsupportedModelError(
                f"accelerators ({', '.join(self.accelerators)}) take fixed shapes, and the model "
                "has sizes that only the run knows; fix them, or compile for the CPU alone"
            )
        for accelerator in self.accelerators:
            patterns = patterns_of(accelerator)
            if patterns:
                mod = _partition(mod, patterns)
        return mod


def _partition(mod: IRModule, patterns: Sequence[relax.transform.FusionPattern]) -> IRModule:
    mod = relax.transform.ConvertToDataflow(min_size=1)(mod)
    # Importers compute some constants from others, but patterns need their values.
    mod = FoldConstants()(mod)
    fuse = relax.transform.FuseOpsByPattern(patterns, bind_constants=True, annotate_codegen=True)
    with matching_in(mod):
        return with_grouped_spans(mod, fuse(mod))
