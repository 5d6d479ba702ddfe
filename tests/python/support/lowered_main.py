"""The main function of one version of a module, without the choice between versions."""

from __future__ import annotations

from tvm.ir import IRModule

from usmp.aot.main_versions import MainVersions


def lower_main(mod: IRModule, output_names: list[str] | None = None) -> IRModule:
    """The version in which copies are elided by the live bytes alone."""
    return MainVersions(mod, output_names).version()[0]
