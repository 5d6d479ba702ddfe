"""What the C of a core may use."""

from __future__ import annotations

import shutil

import pytest
from tvm.target import Target

from support.compilers import run_compiler
from usmp.objects.target.cores import CORES, PORTABLE, Core, core_of

SUPPORTED = (
    "cortex-m0, cortex-m0plus, cortex-m3, cortex-m4, cortex-m7, cortex-m23, cortex-m33, "
    "cortex-m55, cortex-m85"
)


def core(mcpu: str) -> Core:
    return core_of(Target({"kind": "c", "mcpu": mcpu}))


def test_extensions_of_each_core():
    assert {
        name: (c.has_dsp, c.has_mve, c.has_long_multiply, c.is_dual_issue)
        for name, c in CORES.items()
    } == {
        "cortex-m0": (False, False, False, False),
        "cortex-m0plus": (False, False, False, False),
        "cortex-m3": (False, False, True, False),
        "cortex-m4": (True, False, True, False),
        "cortex-m7": (True, False, True, True),
        "cortex-m23": (False, False, False, False),
        "cortex-m33": (True, False, True, False),
        "cortex-m55": (True, True, True, False),
        "cortex-m85": (True, True, True, True),
    }


@pytest.mark.parametrize("name", CORES)
def test_a_core_by_its_name(name):
    assert core(name) is CORES[name]


@pytest.mark.parametrize(
    "target",
    [
        None,
        Target("c"),
        Target({"kind": "c", "mcpu": "generic"}),
        Target("llvm"),
        Target({"kind": "llvm", "mcpu": "cortex-m4"}),
    ],
    ids=str,
)
def test_portable(target):
    assert core_of(target) is PORTABLE
    assert not (PORTABLE.has_dsp or PORTABLE.has_mve or PORTABLE.is_dual_issue)


@pytest.mark.parametrize(
    ("mcpu", "has_dsp", "has_mve"),
    [
        ("cortex-m33+nodsp", False, False),
        ("cortex-m33+nofp", True, False),
        ("cortex-m33+nofp+nodsp", False, False),
        ("cortex-m55+nodsp", False, False),
        ("cortex-m55+nomve", True, False),
        ("cortex-m55+nomve.fp", True, True),
        ("cortex-m55+nofp", True, True),
        ("cortex-m85+nopacbti", True, True),
    ],
)
def test_a_core_without_a_feature(mcpu, has_dsp, has_mve):
    found = core(mcpu)
    assert (found.name, found.has_dsp, found.has_mve) == (mcpu.split("+")[0], has_dsp, has_mve)


@pytest.mark.parametrize(
    ("mcpu", "meant"),
    [
        ("cortex-a53", 'Did you mean "cortex-m3" or "cortex-m23" or "cortex-m33"? '),
        ("generic-rv32", ""),
        ("native", ""),
        ("Cortex-M4", 'Did you mean "cortex-m4"? '),
        ("+nodsp", ""),
    ],
)
def test_an_unknown_core(mcpu, meant):
    with pytest.raises(ValueError) as error:
        core(mcpu)
    assert str(error.value) == (
        f"target c: unknown -mcpu={mcpu}. {meant}Cores: {SUPPORTED}. For other CPUs, RISC-V and "
        'this computer among them, "c" without -mcpu is portable C'
    )


@pytest.mark.parametrize(
    ("mcpu", "feature", "supported"),
    [
        ("cortex-m3+nodsp", "nodsp", "Features: none"),
        ("cortex-m4+nodsp", "nodsp", "Features: +nofp"),
        ("cortex-m33+nofp+dsp", "dsp", 'Did you mean "+nodsp"? Features: +nodsp, +nofp'),
        ("cortex-m55+", "", "Features: +nodsp, +nofp, +nomve, +nomve.fp"),
    ],
)
def test_a_feature_that_the_core_does_not_take(mcpu, feature, supported):
    with pytest.raises(ValueError) as error:
        core(mcpu)
    name = mcpu.split("+")[0]
    assert str(error.value) == (
        f'target c: -mcpu={mcpu}: {name} takes no feature "+{feature}". {supported}'
    )


_COMPILER = "arm-none-eabi-gcc"


def macros(mcpu: str) -> set[str] | None:
    """What the compiler says of the CPU; None if it does not know it."""
    command = [_COMPILER, f"-mcpu={mcpu}", "-mthumb", "-mfloat-abi=softfp", "-dM", "-E", "-xc", "-"]
    done = run_compiler(command, input="", check=False)
    if "unrecognized -mcpu target" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    return {line.split()[1] for line in done.stdout.splitlines()}


@pytest.mark.board
@pytest.mark.parametrize("name", CORES)
def test_gcc_says_the_same_with_and_without_each_feature(name):
    if shutil.which(_COMPILER) is None:
        pytest.skip(f"{_COMPILER} is not installed")
    if macros(name) is None:
        pytest.skip(f"this {_COMPILER} does not know {name}")
    for mcpu in [name, *(f"{name}+{feature}" for feature in CORES[name].optional)]:
        defined = macros(mcpu)
        assert defined is not None
        assert core(mcpu).has_dsp == ("__ARM_FEATURE_DSP" in defined), mcpu
        assert core(mcpu).has_mve == ("__ARM_FEATURE_MVE" in defined), mcpu
