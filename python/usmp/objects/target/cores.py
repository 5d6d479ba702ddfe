"""Instructions that the C code for a target may use: facts about Cortex-M cores, by name.

Sources: Arm's technical reference manuals of the cores, and GCC's options `-mcpu` for ARM, whose
names of features are used here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tvm.target import Target

from usmp import names
from usmp.support.text.known_names import unknown_name


@dataclass(frozen=True)
class Core:
    """The features of a CPU that change the generated C.

    Parameters
    ----------
    name
        name for `-mcpu`, without suffixes such as "+nodsp"; "portable" is no particular CPU.
    description
        one line about the core.
    has_dsp
        whether it has instructions for two 16-bit products at once (`__ARM_FEATURE_DSP`).
    has_mve
        whether it has 16-byte vectors, at least of integers (`__ARM_FEATURE_MVE`).
    has_mve_float
        whether it has vectors of floats.
    has_long_multiply
        whether it has an instruction for 64-bit products. Such cores can also load signed bytes at
        an offset from a pointer.
    is_dual_issue
        whether it can run two instructions in one cycle.
    optional
        features that the core may lack, as in "+nodsp".
    """

    name: str
    description: str
    has_dsp: bool = False
    has_mve: bool = False
    has_mve_float: bool = False
    has_long_multiply: bool = True
    is_dual_issue: bool = False
    optional: tuple[str, ...] = ()


PORTABLE = Core("portable", "any CPU with a compiler for C99")


def _core(
    name: str,
    *optional: str,
    has_dsp: bool = False,
    has_mve: bool = False,
    has_long_multiply: bool = True,
    is_dual_issue: bool = False,
) -> Core:
    return Core(
        name,
        names.CORES[name],
        has_dsp,
        has_mve,
        has_mve,
        has_long_multiply,
        is_dual_issue,
        optional,
    )


_HELIUM = ("nodsp", "nofp", "nomve", "nomve.fp")

CORES: Mapping[str, Core] = {
    core.name: core
    for core in (
        _core("cortex-m0", has_long_multiply=False),
        _core("cortex-m0plus", has_long_multiply=False),
        _core("cortex-m3"),
        _core("cortex-m4", "nofp", has_dsp=True),
        _core("cortex-m7", "nofp", "nofp.dp", has_dsp=True, is_dual_issue=True),
        _core("cortex-m23", has_long_multiply=False),
        _core("cortex-m33", "nodsp", "nofp", has_dsp=True),
        _core("cortex-m55", *_HELIUM, has_dsp=True, has_mve=True),
        _core("cortex-m85", *_HELIUM, "nopacbti", has_dsp=True, has_mve=True, is_dual_issue=True),
    )
}
"""The cores that `-mcpu` of target "c" accepts, by name."""


def core_of(target: Target | None) -> Core:
    """Return the core of a target.

    Parameters
    ----------
    target
        the target. Without -mcpu, with -mcpu=generic, and for kinds other than "c", whose compiler
        selects instructions itself, the core is the portable one.

    Raises
    ------
    ValueError
        an unknown -mcpu, or a feature that GCC does not take for that core.
    """
    mcpu = named_core(target) if target is not None and target.kind.name == "c" else None
    return PORTABLE if mcpu in (None, names.GENERIC_CORE) else _named(mcpu)


def named_core(target: Target) -> str | None:
    """Return the value of -mcpu, or None."""
    mcpu = target.attrs.get("mcpu")
    return str(mcpu) if mcpu else None


def _named(mcpu: str) -> Core:
    """Return the core of a value such as "cortex-m33+nodsp"."""
    name, *features = mcpu.split("+")
    if name not in CORES:
        problem = unknown_name(f"target c: unknown -mcpu={mcpu}", name, CORES, "Cores")
        raise ValueError(
            f'{problem}. For other CPUs, RISC-V and this computer among them, "c" without -mcpu is '
            "portable C"
        )
    core = CORES[name]
    if not features:
        return core
    for feature in features:
        if feature not in core.optional:
            problem = f'target c: -mcpu={mcpu}: {name} takes no feature "+{feature}"'
            known = [f"+{name}" for name in core.optional]
            raise ValueError(unknown_name(problem, feature, known, "Features"))
    # MVE needs the DSP extension, and MVE with floats needs the FPU.
    has_mve = core.has_mve and not {"nodsp", "nomve"} & set(features)
    return replace(
        core,
        has_dsp=core.has_dsp and "nodsp" not in features,
        has_mve=has_mve,
        has_mve_float=has_mve and not {"nofp", "nomve.fp"} & set(features),
    )
