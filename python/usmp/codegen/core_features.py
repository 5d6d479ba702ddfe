"""What the C of a core says where the compiler lacks what the core has."""

from __future__ import annotations

from tvm.ir import IRModule

from usmp.codegen.c_files import text_of
from usmp.codegen.c_helpers import Helpers
from usmp.codegen.interface import Interface
from usmp.objects.cores import Core, core_of

_FEATURES = (
    ("has_mve", "(!defined(__ARM_FEATURE_MVE) || !(__ARM_FEATURE_MVE & 1))", "MVE"),
    ("has_dsp", "!defined(__ARM_FEATURE_DSP)", "the DSP extension"),
)
"""Of a core: name of the field, whether the compiler lacks it, what it is called."""


def print_features(mod: IRModule, interface: Interface, helpers: Helpers) -> list[str]:
    """The macros that tensor intrinsics ask; nothing if there are none.

    Another processor than one of Arm runs the portable C, as a host that tests does; a compiler for
    Arm that is not told of the core most likely lacks an option.
    """
    if not helpers.ask_for_features:
        return []
    target = mod[interface.entries[0].function].attrs["target"]
    return [text_of("tensor_intrin_features.h"), *_warning(core_of(target))]


def _warning(core: Core) -> list[str]:
    for field, lacks, name in _FEATURES:
        if getattr(core, field):
            condition = f"defined(__arm__) && !defined(TVMGEN_PORTABLE) && {lacks}"
            text = f"portable C: the compiler lacks {name}; compile with -mcpu={core.name}"
            return [f'#if {condition}\n#warning "{text}"\n#endif\n']
    return []
