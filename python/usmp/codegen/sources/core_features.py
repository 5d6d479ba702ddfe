"""Macros for the features of a core, and a warning if the compiler lacks a feature."""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir import IRModule

from usmp.codegen.c.helpers import Helpers
from usmp.codegen.c.source_files import functions_of, text_of
from usmp.codegen.interface.module_interface import Interface
from usmp.names import SMALL
from usmp.objects.attributes.module_attributes import CODE_ATTR
from usmp.objects.target.cores import PORTABLE, Core, core_of

_FEATURES = (
    ("has_mve", "(!defined(__ARM_FEATURE_MVE) || !(__ARM_FEATURE_MVE & 1))", "MVE"),
    ("has_dsp", "!defined(__ARM_FEATURE_DSP)", "the DSP extension"),
)
"""Each feature: field of `Core`, C condition of a compiler without it, readable name."""


def print_features(mod: IRModule, interface: Interface, helpers: Helpers) -> list[str]:
    """Return the macros that tensor intrinsics test; none if there are no tensor intrinsics.

    Other processors than Arm's, such as a host in tests, run the portable C without a warning. An
    Arm compiler without the feature most likely lacks an option for the core.
    """
    if not helpers.ask_for_features:
        return []
    core = _core(mod, interface)
    vectors = [text_of("tensor_intrin/x86.h")] if core == PORTABLE else []
    small = ["#define TVMGEN_SMALL\n"] if CODE_ATTR.of(mod) == SMALL else []
    return [*small, text_of("tensor_intrin/features.h"), *vectors, *_warning(core)]


def without_vectors_of_hosts(
    mod: IRModule, interface: Interface, definitions: Mapping[str, str]
) -> list[str]:
    """Return the helper functions to print: without the x86 vectors if the code is for a
    microcontroller, because such code runs on x86 in tests only."""
    if _core(mod, interface) == PORTABLE:
        return list(definitions.values())
    of_x86 = functions_of("tensor_intrin/dot_vectors.c")
    return [text for name, text in definitions.items() if name not in of_x86]


def _core(mod: IRModule, interface: Interface) -> Core:
    return core_of(mod[interface.entries[0].function].attrs["target"])


def _warning(core: Core) -> list[str]:
    for field, lacks, name in _FEATURES:
        if getattr(core, field):
            condition = f"defined(__arm__) && !defined(TVMGEN_PORTABLE) && {lacks}"
            text = f"portable C: the compiler lacks {name}; compile with -mcpu={core.name}"
            return [f'#if {condition}\n#warning "{text}"\n#endif\n']
    return []
