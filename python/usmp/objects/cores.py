"""Which instructions may the C of a target use? What is known of Cortex-M cores, by name.

Sources: Arm's technical reference manuals of the cores, and GCC's options `-mcpu` for ARM, whose
spelling of what a core can lack is taken here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tvm.target import Target

from usmp import names


@dataclass(frozen=True)
class Core:
    """What a C compiler can use of a CPU, as far as operators are written differently for it.

    Parameters
    ----------
    name
        as `-mcpu` takes it, without what the core lacks; "portable" is none in particular.
    description
        one line about it.
    has_dsp
        has instructions for two products of 16 bits at once (`__ARM_FEATURE_DSP`).
    has_mve
        has vectors of 16 bytes, at least of integers (`__ARM_FEATURE_MVE`).
    has_mve_float
        has them of floats, too.
    has_long_multiply
        has an instruction for products of 64 bits; it then also loads signed bytes at a distance
        from a pointer.
    is_dual_issue
        runs two instructions in one cycle if their order allows it.
    optional
        what the core can lack, as in "+nodsp".
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
"""The cores that `-mcpu` of target "c" names."""


def core_of(target: Target | None) -> Core:
    """The core that a target's C is for.

    Parameters
    ----------
    target
        the portable core is that of "c" without -mcpu or with -mcpu=generic, and of any other
        kind, whose compiler chooses instructions itself.

    Raises
    ------
    ValueError
        an unknown -mcpu, or a feature that GCC does not take for that core.
    """
    mcpu = named_core(target) if target is not None and target.kind.name == "c" else None
    return PORTABLE if mcpu in (None, names.GENERIC_CORE) else _named(mcpu)


def named_core(target: Target) -> str | None:
    """What -mcpu says, or None."""
    mcpu = target.attrs.get("mcpu")
    return str(mcpu) if mcpu else None


def _named(mcpu: str) -> Core:
    """The core of "cortex-m33+nodsp"."""
    name, *features = mcpu.split("+")
    if name not in CORES:
        raise ValueError(
            f"target c: unknown -mcpu={mcpu}; supported: {', '.join(CORES)}; for other CPUs, "
            'RISC-V and this computer among them, "c" without -mcpu is portable C'
        )
    core = CORES[name]
    if not features:
        return core
    for feature in features:
        if feature not in core.optional:
            known = ", ".join(f"+{name}" for name in core.optional) or "none"
            raise ValueError(
                f'target c: -mcpu={mcpu}: {name} takes no feature "+{feature}"; supported: {known}'
            )
    # MVE needs the DSP extension, and its floats those of the core.
    has_mve = core.has_mve and not {"nodsp", "nomve"} & set(features)
    return replace(
        core,
        has_dsp=core.has_dsp and "nodsp" not in features,
        has_mve=has_mve,
        has_mve_float=has_mve and not {"nofp", "nomve.fp"} & set(features),
    )
