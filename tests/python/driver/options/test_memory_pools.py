"""Memory pools by flags: what the RFC's flags, and those of TVM 0.18, make."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from support.small_digits import small_digits
from usmp.driver.options.memory_pools import add_pool_options, memory_pools, state_pool
from usmp.driver.options.pool_flags import split_pool_flags
from usmp.objects import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.target.targets import parse_targets

BOTH = {"accel": "rw", "c": "rw"}


def parsed(*flags: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_pool_options(parser)
    return parser.parse_args(split_pool_flags(flags))


def pools_of(*flags: str, target: str = "accel,c"):
    return memory_pools(parsed(*flags), parse_targets(target))


def workspace(*pools: tuple) -> WorkspaceMemoryPools:
    return WorkspaceMemoryPools(
        [WorkspacePoolInfo(name, access, PoolInfoProperties(**p)) for name, access, p in pools]
    )


def constants(*pools: tuple) -> ConstantMemoryPools:
    return ConstantMemoryPools(
        [ConstantPoolInfo(name, access, (), PoolInfoProperties(**p)) for name, access, p in pools]
    )


def test_no_flags_are_no_pools():
    assert pools_of() == (None, None)


def test_a_number_that_tvm_took_for_none():
    """TVM 0.18 wrote -1 where there is no limit, or a number is not known."""
    flags = [f"--workspace-pools{key}=m:-1" for key in ("-size-hint-bytes", "-clock-frequency-hz")]
    flags += [
        f"--workspace-pools-{way}-bandwidth-bytes-per-cycle=m: -1" for way in ("read", "write")
    ]
    assert pools_of("--workspace-pools=m", *flags) == (workspace(("m", BOTH, {})), None)
    flags = ["--workspace-pools-size-hint-bytes=m:8", "--workspace-pools-size-hint-bytes=m:-1"]
    assert pools_of("--workspace-pools=m", *flags) == (workspace(("m", BOTH, {})), None)


RFC_U3 = [
    "--usmp-workspace-pools=dtcm,sram",
    "--usmp-parameter-pools=itcm,flash",
    "--usmp-workspace-pool-dtcm=target=c;size=1000",
    "--usmp-workspace-pool-sram=target=c,accel",
    "--usmp-parameter-pool-itcm=target=c;size=5000",
    "--usmp-parameter-pool-flash=target=c,accel",
]
TVM_U3 = [
    "--workspace-pools=dtcm,sram",
    "--workspace-pools-targets=dtcm:c",
    "--workspace-pools-targets=sram:c,accel",
    "--workspace-pools-size-hint-bytes=dtcm:1000",
    "--constant-pools=itcm,flash",
    "--constant-pools-targets=itcm:c",
    "--constant-pools-targets=flash:c,accel",
    "--constant-pools-size-hint-bytes=itcm:5000",
]


@pytest.mark.parametrize("flags", [RFC_U3, TVM_U3], ids=["rfc", "tvm"])
def test_use_case_u3(flags):
    in_order = {"c": "rw", "accel": "rw"}
    assert pools_of(*flags) == (
        workspace(("dtcm", {"c": "rw"}, {"size_hint_bytes": 1000}), ("sram", in_order, {})),
        constants(("itcm", {"c": "rw"}, {"size_hint_bytes": 5000}), ("flash", in_order, {})),
    )


EVERYTHING = {
    "size_hint_bytes": 65536,
    "clock_frequency_hz": 120_000_000,
    "read_bandwidth_bytes_per_cycle": 8,
    "write_bandwidth_bytes_per_cycle": 4,
    "read_latency_cycles": 3,
    "write_latency_cycles": 0,
    "target_burst_bytes": {"c": 2, "accel": 4},
    "is_internal": True,
    "section_name": ".dtcm_bss",
    "alignment": 64,
    "pool_offset": 3,
    "address": 0x2000_0000,
    "io": "no",
}
SPECIFICATION = (
    "target=c:rw,accel:ro;size=64K;clock-frequency-hz=120000000;read-bandwidth-bytes-per-cycle=8;"
    "write-bandwidth-bytes-per-cycle=4;read-latency-cycles=3;write-latency-cycles=0;"
    "target-burst-bytes=c:2,accel:4;section=.dtcm_bss;alignment=64;pool-offset=3;"
    "address=0x20000000;io=no;internal"
)


def every_tvm_flag(side: str) -> list[str]:
    values = [
        ("", "m"),
        ("-targets", "m:c:rw,accel:ro"),
        ("-size-hint-bytes", "m:65536"),
        ("-clock-frequency-hz", "m:120000000"),
        ("-read-bandwidth-bytes-per-cycle", "m:8"),
        ("-write-bandwidth-bytes-per-cycle", "m:4"),
        ("-read-latency-cycles", "m:3"),
        ("-write-latency-cycles", "m:0"),
        ("-target-burst-bytes", "m:c:2"),
        ("-target-burst-bytes", "m:accel:4"),
        ("-section", "m:.dtcm_bss"),
        ("-alignment", "m:0x40"),
        ("-pool-offset", "m:3"),
        ("-address", "m:512M"),
        ("-io", "m:no"),
        ("-internal", "m"),
    ]
    return [f"--{side}-pools{name}={value}" for name, value in values]


@pytest.mark.parametrize(
    "flags",
    [
        ["--usmp-workspace-pools=m", f"--usmp-workspace-pool-m={SPECIFICATION}"],
        every_tvm_flag("workspace"),
    ],
    ids=["rfc", "tvm"],
)
def test_every_property_of_a_workspace_pool(flags):
    expected = workspace(("m", {"c": "rw", "accel": "ro"}, EVERYTHING))
    assert pools_of(*flags) == (expected, None)


@pytest.mark.parametrize(
    "flags",
    [
        ["--usmp-parameter-pools=m", f"--usmp-parameter-pool-m={SPECIFICATION}"],
        every_tvm_flag("constant"),
    ],
    ids=["rfc", "tvm"],
)
def test_every_property_of_a_constant_pool(flags):
    expected = constants(("m", {"c": "rw", "accel": "ro"}, EVERYTHING))
    assert pools_of(*flags) == (None, expected)


def test_spellings_of_workspace_and_constant_pools_are_independent():
    flags = ["--usmp-workspace-pools=sram", "--constant-pools=flash"]
    assert pools_of(*flags) == (workspace(("sram", BOTH, {})), constants(("flash", BOTH, {})))


@pytest.mark.parametrize(
    "flags",
    [
        ["--usmp-workspace-pools=b,a"],
        ["--usmp-workspace-pools", "b,a"],
        ["--usmp-workspace-pools= b , a"],
        ["--workspace-pools=b,a"],
    ],
    ids=" ".join,
)
def test_order_is_that_of_the_list_and_targets_are_all_by_default(flags):
    assert pools_of(*flags)[0] == workspace(("b", BOTH, {}), ("a", BOTH, {}))


def test_some_pools_may_say_their_targets_and_others_not():
    flags = ["--workspace-pools=a,b", "--workspace-pools-targets=a:c"]
    assert pools_of(*flags)[0] == workspace(("a", {"c": "rw"}, {}), ("b", BOTH, {}))


def test_the_cpu_is_named_by_its_kind():
    flags = ["--usmp-workspace-pools=a", "--usmp-workspace-pool-a=target=llvm"]
    target = "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3"
    assert pools_of(*flags, target=target)[0] == workspace(("a", {"llvm": "rw"}, {}))


@pytest.mark.parametrize(
    "specification",
    [
        ["--usmp-workspace-pool-a=target=c;size=10"],
        ["--usmp-workspace-pool-a", "target=c;size=10"],
        ["--usmp-workspace-pool-a=", "target=c;size=10"],
        ["--usmp-workspace-pool-a= target=c; size=10"],
        ["--usmp-workspace-pool-a=size = 10 ; target = c ;"],
    ],
    ids=" ".join,
)
def test_blanks_in_a_specification_do_not_matter(specification):
    expected = workspace(("a", {"c": "rw"}, {"size_hint_bytes": 10}))
    assert pools_of("--usmp-workspace-pools=a", *specification)[0] == expected
    assert pools_of(*specification, "--usmp-workspace-pools=a")[0] == expected


@pytest.mark.parametrize("name", ["NAME", "ram-1", "2nd", "pools", "a.b"])
def test_any_name_of_a_pool(name):
    flags = [f"--usmp-workspace-pools={name}", f"--usmp-workspace-pool-{name}=size=1"]
    assert pools_of(*flags)[0] == workspace((name, BOTH, {"size_hint_bytes": 1}))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("0010", 10),
        ("0x10", 16),
        ("0X1f", 31),
        ("64K", 65536),
        ("3k", 3072),
        ("1M", 1048576),
        ("2m", 2097152),
        ("0x10K", 16384),
        (str(2**63 - 1), 2**63 - 1),
    ],
)
def test_sizes(text, size):
    flags = ["--workspace-pools=a", f"--workspace-pools-size-hint-bytes=a:{text}"]
    assert pools_of(*flags)[0].pools[0].size_hint_bytes == size


def test_the_last_value_of_tvms_flags_counts_for_each_pool():
    flags = [
        "--workspace-pools=a,b",
        "--workspace-pools-size-hint-bytes=a:800",
        "--workspace-pools-size-hint-bytes=b:1200",
        "--workspace-pools-size-hint-bytes=a:400",
        "--workspace-pools-targets=a:accel",
        "--workspace-pools-targets=a:c",
        "--workspace-pools-target-burst-bytes=b:c:2",
        "--workspace-pools-target-burst-bytes=b:accel:4",
        "--workspace-pools-target-burst-bytes=b:c:8",
    ]
    bursts = {"c": 8, "accel": 4}
    assert pools_of(*flags)[0] == workspace(
        ("a", {"c": "rw"}, {"size_hint_bytes": 400}),
        ("b", BOTH, {"size_hint_bytes": 1200, "target_burst_bytes": bursts}),
    )


def test_arguments_after_two_dashes_are_left_alone():
    arguments = ["-o", "x", "--", "--usmp-workspace-pool-a=size=1"]
    assert split_pool_flags(arguments) == arguments


# ---- the whole command


@pytest.fixture
def model(tmp_path) -> Path:
    """Two operators, with constants and a tensor between them."""
    path = tmp_path / "digits.tflite"
    path.write_bytes(small_digits())
    return path


@pytest.mark.slow
def test_algorithm_by_its_own_flag(tvmc, model):
    setting = ["--pass-config", "tir.usmp.algorithm=hill_climb"]
    by_flag = tvmc("compile", model, "--usmp-algorithm=hill_climb", "-o", "a.tar")
    by_both = tvmc("compile", model, "--usmp-algorithm=hill_climb", *setting, "-o", "b.tar")
    by_setting = tvmc("compile", model, *setting, "-o", "c.tar")
    assert by_flag.status == by_both.status == by_setting.status == 0
    assert len({Path(f"{name}.tar").read_bytes() for name in "abc"}) == 1
    assert "Memory of digits (hill_climb)" in by_flag.stdout


@pytest.mark.slow
def test_pools_that_stay_empty_are_named(tvmc, model):
    flags = ["--workspace-pools=sram,psram", "--constant-pools=flash,qspi"]
    outcome = tvmc("compile", model, *flags)
    assert outcome.stdout.splitlines()[-2:] == [
        "Pool psram stays empty: its size is 0, and its address may be NULL.",
        "Pool qspi stays empty: its size is 0, and its address may be NULL.",
    ]
    assert os.listdir() == ["module.tar"]


@pytest.mark.slow
def test_size_that_the_shell_cut_off(tvmc, model):
    """Of `--usmp-workspace-pool-dtcm=target=c;size=1000` only this arrives."""
    flags = ["--usmp-workspace-pools=dtcm,sram", "--usmp-workspace-pool-dtcm=target=c"]
    assert tvmc("compile", model, *flags).stderr == (
        "tvmc: note: pool dtcm has no size, so nothing is left for pool sram; if you gave one, "
        'write it in quotes, as --usmp-workspace-pool-dtcm="target=c;size=64K"\n'
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "flag",
    ["--usmp-workspace-pool-dtcm=target=c;size=1000", "--usmp-workspace-pool-sram=target=c"],
)
def test_no_note_where_no_size_is_missing(tvmc, model, flag):
    outcome = tvmc("compile", model, "--usmp-workspace-pools=dtcm,sram", flag)
    assert (outcome.status, outcome.stdout.count("note:")) == (0, 0)


@pytest.mark.slow
def test_both_spellings_write_the_same_archive(tvmc, model):
    for flags, path in ((RFC_U3, "rfc.tar"), (TVM_U3, "tvm.tar")):
        assert tvmc("compile", model, "--target=accel,c", *flags, "-o", path).status == 0
    assert Path("rfc.tar").read_bytes() == Path("tvm.tar").read_bytes()


def state_pool_of(*flags: str):
    return state_pool(parsed(*flags), parse_targets("accel,c"))


def test_a_state_pool_by_its_name():
    assert state_pool_of() is None
    assert state_pool_of("--state-pool=backup") == "backup"
    listed = ["--usmp-workspace-pools=dtcm,sram", "--usmp-workspace-pool-sram=size=64"]
    assert state_pool_of(*listed, "--state-pool", "sram") == "sram"
    assert pools_of(*listed, "--state-pool", "sram") == pools_of(*listed)


@pytest.mark.parametrize(
    "flags",
    [
        ["--usmp-workspace-pool-backup=target=c;size=4K;section=.backup;internal"],
        [
            "--usmp-workspace-pools=sram",
            "--usmp-workspace-pool-backup",
            "target=c;size=4K;section=.backup;internal",
        ],
        [
            "--workspace-pools-targets=backup:c",
            "--workspace-pools-size-hint-bytes=backup:4096",
            "--workspace-pools-section=backup:.backup",
            "--workspace-pools-internal=backup",
        ],
    ],
    ids=["rfc", "rfc-beside-a-list", "tvm"],
)
def test_a_state_pool_that_is_not_listed(flags):
    (pool,) = workspace(
        (
            "backup",
            {"c": "rw"},
            {"size_hint_bytes": 4096, "section_name": ".backup", "is_internal": True},
        )
    ).pools
    assert state_pool_of(*flags, "--state-pool=backup") == pool
    beside = workspace(("sram", BOTH, {})) if "--usmp-workspace-pools=sram" in flags else None
    assert pools_of(*flags, "--state-pool=backup") == (beside, None)
