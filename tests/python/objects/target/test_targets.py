"""Targets as `--target` and `usmp.build` take them."""

from __future__ import annotations

import pytest
from tvm.target import Target
from tvm.target.codegen import llvm_get_cpu_features, llvm_get_system_cpu
from tvm_ffi import get_global_func

from usmp.objects.target.targets import is_target, parse_targets, target_text

C = Target("c")
M4 = Target({"kind": "c", "mcpu": "cortex-m4"})
M33 = Target({"kind": "c", "mcpu": "cortex-m33"})


@pytest.mark.parametrize(
    "text", ["c", "c -mcpu=cortex-m4", "c -mcpu=cortex-m33+nodsp", "c -mcpu=generic"]
)
def test_a_target_is_printed_as_it_was_read(text):
    assert target_text(parse_targets(text).cpu) == text


def test_any_cpu_of_llvm():
    assert parse_targets("llvm -mcpu=cortex-a53").cpu.attrs["mcpu"] == "cortex-a53"


def test_the_cpu_of_this_machine():
    here = llvm_get_system_cpu()
    native = [
        "llvm -mcpu=native",
        "accel,llvm -mcpu=native",
        {"kind": "llvm", "mcpu": "native"},
        Target({"kind": "llvm", "mcpu": "native"}),
    ]
    targets = {target_text(parse_targets(target).cpu) for target in native}
    assert len(targets) == 1
    options = targets.pop().split()
    assert options[:2] == ["llvm", f"-mcpu={here}"]
    assert parse_targets("llvm -mcpu=native -mattr=+avx").cpu.attrs["mattr"][-1] == "+avx"


def test_what_the_cpu_of_this_machine_lacks_is_off():
    features = get_global_func("tvm.codegen.llvm.GetHostCPUFeatures")()
    lacking = {f"-{name}" for name, is_there in features.items() if not is_there}
    of_cpu = {f"-{name}" for name in llvm_get_cpu_features(parse_targets("llvm").cpu)}
    switched = set(parse_targets("llvm -mcpu=native").cpu.attrs.get("mattr") or ())
    assert switched <= lacking
    assert not switched & of_cpu  # A plain "llvm" needs nothing that is missing.


def test_another_machine_is_not_native():
    with pytest.raises(
        ValueError,
        match=r"^target llvm: -mcpu=native is the CPU of this machine, .*, and "
        "-mtriple=thumbv7m-none-eabi is another one; name the CPU, as -mcpu=cortex-m3$",
    ):
        parse_targets("llvm -mtriple=thumbv7m-none-eabi -mcpu=native")


@pytest.mark.parametrize(
    "target",
    ["c -mcpu=cortex-m44", "accel,c -mcpu=cortex-m44", Target({"kind": "c", "mcpu": "cortex-m44"})],
    ids=str,
)
def test_an_unknown_core(target):
    with pytest.raises(ValueError, match=r"^target c: unknown -mcpu=cortex-m44\. Did you mean"):
        parse_targets(target)


@pytest.mark.parametrize(
    ("listed", "target", "expected"),
    [
        (C, C, True),
        (C, M4, False),
        (M4, C, False),
        (M4, M4, True),
        (M33, M4, False),
        ("c", M4, True),
        (C, Target("llvm"), False),
        (C, Target({"kind": "ext_dev", "keys": ["accel"]}), False),
    ],
)
def test_a_pool_means_a_target(listed, target, expected):
    assert is_target(listed, target) is expected
