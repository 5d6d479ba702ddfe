"""Flags of memory pools that are wrong: one line that says what, where and what to write."""

from __future__ import annotations

import argparse

import pytest

from support.accelerator_models import registered
from support.all_cases import check_all
from usmp.driver.options.memory_pools import add_pool_options, memory_pools, state_pool
from usmp.driver.options.pool_flags import split_pool_flags
from usmp.objects.target.targets import parse_targets
from usmp.relax.accelerators import quantized_operator

RFC = "--usmp-workspace-pools=dtcm,sram"
TVM = "--workspace-pools=dtcm,sram"
BYTES = "the value must be bytes, at least {}, such as 1000, 0x400 or 64K (K is 1024, M is 1024K)"
SIZE = f"{BYTES.format(1)}; leave it out for no limit"
ALIGNMENT = f"{BYTES.format(1)}; leave it out for the executor's"
KEYS = (
    "target, size, clock-frequency-hz, read-bandwidth-bytes-per-cycle, "
    "write-bandwidth-bytes-per-cycle, read-latency-cycles, write-latency-cycles, "
    "target-burst-bytes, section, alignment, pool-offset, address, io, internal"
)


def rfc(specification: str) -> list[str]:
    return [RFC, f"--usmp-workspace-pool-dtcm={specification}"]


def tvm(name: str, value: str) -> list[str]:
    return [TVM, f"--workspace-pools-{name}={value}"]


WRONG_VALUES = [
    (rfc("size=abc"), f"size=abc in --usmp-workspace-pool-dtcm: {SIZE}"),
    (rfc("size=0"), f"size=0 in --usmp-workspace-pool-dtcm: {SIZE}"),
    (rfc("size=-5"), f"size=-5 in --usmp-workspace-pool-dtcm: {SIZE}"),
    (rfc("size=1.5K"), f"size=1.5K in --usmp-workspace-pool-dtcm: {SIZE}"),
    (rfc("size=64KB"), f"size=64KB in --usmp-workspace-pool-dtcm: {SIZE}"),
    (rfc("size=\u0663"), f"size=\u0663 in --usmp-workspace-pool-dtcm: {SIZE}"),
    (rfc("size="), f"size= in --usmp-workspace-pool-dtcm: {SIZE}"),
    (
        rfc("size=8796093022208M"),
        "size=8796093022208M in --usmp-workspace-pool-dtcm: the value must be at most "
        "9223372036854775807",
    ),
    (
        tvm("size-hint-bytes", "dtcm:abc"),
        f"--workspace-pools-size-hint-bytes=dtcm:abc: {SIZE}",
    ),
    (
        tvm("size-hint-bytes", "dtcm:400,sram:500"),
        f"--workspace-pools-size-hint-bytes=dtcm:400,sram:500: {SIZE}",
    ),
    (
        tvm("size-hint-bytes", "400"),
        "--workspace-pools-size-hint-bytes=400: write it as POOL:BYTES",
    ),
    (
        rfc("clock-frequency-hz=100M"),
        "clock-frequency-hz=100M in --usmp-workspace-pool-dtcm: the value must be a whole number, "
        "at least 1",
    ),
    (
        tvm("read-latency-cycles", "dtcm:-1"),
        "--workspace-pools-read-latency-cycles=dtcm:-1: the value must be a whole number, "
        "at least 0",
    ),
    (
        tvm("target-burst-bytes", "dtcm:c:0"),
        "--workspace-pools-target-burst-bytes=dtcm:c:0: the value must be a whole number, "
        "at least 1",
    ),
    (
        tvm("target-burst-bytes", "dtcm:4"),
        "--workspace-pools-target-burst-bytes=dtcm:4: write it as POOL:TARGET:BYTES",
    ),
    (
        [
            *tvm("target-burst-bytes", "dtcm:c:x"),
            "--workspace-pools-target-burst-bytes=dtcm:accel:2",
        ],
        "--workspace-pools-target-burst-bytes=dtcm:c:x,accel:2: the value must be a whole number, "
        "at least 1",
    ),
    (
        rfc("target-burst-bytes=4"),
        "target-burst-bytes=4 in --usmp-workspace-pool-dtcm: write it as TARGET:BYTES, as in c:4",
    ),
    (
        rfc("target-burst-bytes=c:4,c:8"),
        'target-burst-bytes=c:4,c:8 in --usmp-workspace-pool-dtcm: target "c" is named twice',
    ),
    (
        rfc("section=.dtcm bss"),
        'Workspace Pool "dtcm": section_name must be the name of a section, such as ".dtcm_bss", '
        'not ".dtcm bss"',
    ),
    (rfc("alignment=0"), f"alignment=0 in --usmp-workspace-pool-dtcm: {ALIGNMENT}"),
    (
        rfc("alignment=24"),
        'Workspace Pool "dtcm": alignment of a memory pool must be a power of two, but is 24',
    ),
    (
        tvm("pool-offset", "dtcm:-1"),
        f"--workspace-pools-pool-offset=dtcm:-1: {BYTES.format(0)}",
    ),
    (rfc("address=here"), f"address=here in --usmp-workspace-pool-dtcm: {BYTES.format(0)}"),
    (
        tvm("io", "dtcm:yes"),
        'Workspace Pool "dtcm": io of a memory pool must be any, only or no, but is "yes"',
    ),
]

WRONG_TARGETS = [
    (
        rfc("target=npu"),
        'Workspace Pool "dtcm" using undefined Target "npu"; --target has accel, c',
    ),
    (
        tvm("targets", "dtcm:c,llvm"),
        'Workspace Pool "dtcm" using undefined Target "llvm"; --target has accel, c',
    ),
    (
        ["--constant-pools=flash", "--constant-pools-targets=flash:npu"],
        'Constant Pool "flash" using undefined Target "npu"; --target has accel, c',
    ),
    (
        tvm("target-burst-bytes", "dtcm:npu:2"),
        'Workspace Pool "dtcm" using undefined Target "npu"; --target has accel, c',
    ),
    (
        rfc("target=c;target-burst-bytes=accel:2"),
        "target-burst-bytes=accel:2 in --usmp-workspace-pool-dtcm: "
        'target "accel" may not access the pool',
    ),
    (
        rfc("target="),
        'No target specified for Workspace Pool "dtcm"; target= in --usmp-workspace-pool-dtcm '
        "names none",
    ),
    (
        tvm("targets", "dtcm:"),
        'No target specified for Workspace Pool "dtcm"; --workspace-pools-targets=dtcm: names none',
    ),
    (
        rfc("target=c,c"),
        'target=c,c in --usmp-workspace-pool-dtcm: target "c" is named twice',
    ),
    (
        rfc("target=c:rx"),
        "target=c:rx in --usmp-workspace-pool-dtcm: "
        'access of target "c" must be "rw" or "ro", not "rx"',
    ),
    (
        tvm("targets", "dtcm:c:"),
        '--workspace-pools-targets=dtcm:c:: access of target "c" must be "rw" or "ro", not ""',
    ),
    (
        rfc("target=c:ro,accel:ro"),
        'Workspace Pool "dtcm": no target may write it (c:ro, accel:ro), so it can hold nothing',
    ),
]

WRONG_POOLS = [
    (
        [RFC, "--workspace-pools=a"],
        "--usmp-workspace-pools and --workspace-pools are two spellings for workspace pools; "
        "use one of them",
    ),
    (
        [RFC, "--workspace-pools-size-hint-bytes=dtcm:1"],
        "--usmp-workspace-pools and --workspace-pools-size-hint-bytes are two spellings for "
        "workspace pools; use one of them",
    ),
    (
        ["--constant-pools=flash", "--usmp-parameter-pool-flash=size=1"],
        "--usmp-parameter-pool-flash and --constant-pools are two spellings for constant pools; "
        "use one of them",
    ),
    (
        [RFC, "--usmp-workspace-pool-sramm=size=1"],
        'size=1 in --usmp-workspace-pool-sramm: pool "sramm" is not in '
        '--usmp-workspace-pools=dtcm,sram. Did you mean "sram"? Pools: dtcm, sram',
    ),
    (
        tvm("section", "ram:.bss"),
        '--workspace-pools-section=ram:.bss: pool "ram" is not in --workspace-pools=dtcm,sram. '
        'Did you mean "sram"? Pools: dtcm, sram',
    ),
    (
        ["--usmp-workspace-pool-sram=size=1"],
        'size=1 in --usmp-workspace-pool-sram: pool "sram" needs --usmp-workspace-pools=sram',
    ),
    (
        ["--workspace-pools-targets=sram:c"],
        '--workspace-pools-targets=sram:c: pool "sram" needs --workspace-pools=sram',
    ),
    (
        ["--usmp-workspace-pools="],
        '--usmp-workspace-pools=: "" is no name of a pool; write letters, digits and _',
    ),
    (
        ["--workspace-pools=a,,b"],
        '--workspace-pools=a,,b: "" is no name of a pool; write letters, digits and _',
    ),
    (
        ["--workspace-pools=a b"],
        '--workspace-pools=a b: "a b" is no name of a pool; write letters, digits and _',
    ),
    (
        ["--workspace-pools=a:8K"],
        '--workspace-pools=a:8K: "a:8K" is no name of a pool; write letters, digits and _, and '
        "its size as --workspace-pools-size-hint-bytes=a:8K",
    ),
    (
        ["--usmp-parameter-pools=a:8K"],
        '--usmp-parameter-pools=a:8K: "a:8K" is no name of a pool; write letters, digits and _, '
        "and its size as --usmp-parameter-pool-a=size=8K",
    ),
    (
        ["--usmp-workspace-pools=a", "--usmp-workspace-pool-a=target=c,accel,size=16KB,section=.d"],
        '--usmp-workspace-pool-a: separate keys by ";", and quote them, as '
        '"target=c,accel;size=16KB;section=.d"',
    ),
    (["--workspace-pools=a,b,a"], '--workspace-pools=a,b,a: pool "a" is named twice'),
    (
        ["--workspace-pools=a", "--workspace-pools=b"],
        "--workspace-pools is given twice; one lists all pools, the most wanted first",
    ),
    (
        ["--workspace-pools=ram", "--constant-pools=ram"],
        'pool "ram" is named twice, as workspace pool and as constant pool; '
        "give one of them another name",
    ),
    (
        ["--state-pool=a b"],
        '--state-pool=a b: "a b" is no name of a pool; write letters, digits and _',
    ),
    (
        ["--state-pool=flash", "--constant-pools=flash"],
        "--state-pool=flash: that is a constant pool, which nothing can be written to; "
        "name another pool",
    ),
    (
        ["--state-pool=backup", "--usmp-workspace-pool-backup=size=0"],
        f"size=0 in --usmp-workspace-pool-backup: {SIZE}",
    ),
    (
        [*rfc("size=1"), "--usmp-workspace-pool-dtcm=size=2"],
        "--usmp-workspace-pool-dtcm is given twice",
    ),
    (
        rfc("sise=1"),
        f'--usmp-workspace-pool-dtcm: unknown key "sise". Did you mean "size"? Keys: {KEYS}',
    ),
    (rfc("size=1;size=2"), '--usmp-workspace-pool-dtcm: "size" is given twice'),
    (rfc("size"), '--usmp-workspace-pool-dtcm: write "size" as "size=VALUE"'),
    (rfc("internal=1"), '--usmp-workspace-pool-dtcm: write "internal=1" as "internal"'),
    (tvm("internal", "dtcm,"), "--workspace-pools-internal=dtcm,: write it as POOL,..."),
    (tvm("section", ":.bss"), "--workspace-pools-section=:.bss: write it as POOL:SECTION"),
    (
        tvm("read-latency-cycles", "dtcm:-1"),
        "--workspace-pools-read-latency-cycles=dtcm:-1: the value must be a whole number, at "
        "least 0",
    ),
    (
        tvm("internal", "dtcm:1"),
        "--workspace-pools-internal=dtcm:1: write it as POOL,...",
    ),
    (
        [RFC, "--usmp-workspace-pool-dtcm="],
        "--usmp-workspace-pool-dtcm says nothing; "
        'write it as --usmp-workspace-pool-dtcm="target=c;size=64K"',
    ),
]

WRONG_FLAGS = [
    (
        ["--state-pool=sram", "--workspace-pools=sram"],
        'state pool "sram" is the only workspace pool, and holds nothing but state; '
        "add a workspace pool for everything else",
    ),
    (
        ["--state-pool=backup", "--board=mps2-an385"],
        'board mps2-an385 has no memory "backup". Its memories: flash, sram, psram',
    ),
    (
        [RFC, "--usmp-workspace-pool-dtcm", "--target=c"],
        "--usmp-workspace-pool-dtcm says nothing; "
        'write it as --usmp-workspace-pool-dtcm="target=c;size=64K"',
    ),
    (
        ["--usmp-workspace-pool=target=c"],
        "unknown option --usmp-workspace-pool=target=c. Did you mean "
        '"--usmp-workspace-pools" or "--usmp-workspace-pool-NAME"? See tvmc compile --help',
    ),
    (
        ["--workspace-pools-size=a:1"],
        "unknown option --workspace-pools-size=a:1. Did you mean "
        '"--workspace-pools-size-hint-bytes"? See tvmc compile --help',
    ),
    (
        ["--usmp-algorithm=hill_climb", "--pass-config", "tir.usmp.algorithm=greedy_by_size"],
        "--usmp-algorithm=hill_climb and --pass-config tir.usmp.algorithm=greedy_by_size "
        "contradict each other; give one of them",
    ),
    (
        ["--usmp-time-budget=2s", "--pass-config", "tir.usmp.time_budget=1s"],
        "--usmp-time-budget=2s and --pass-config tir.usmp.time_budget=1s contradict each other; "
        "give one of them",
    ),
    (
        ["--workspace-io", "--pass-config", "tir.usmp.use_workspace_io=0"],
        "--workspace-io and --pass-config tir.usmp.use_workspace_io=0 contradict each other; "
        "give one of them",
    ),
    (
        ["--usmp-preserve-inputs", "--pass-config", "tir.usmp.preserve_inputs=0"],
        "--usmp-preserve-inputs and --pass-config tir.usmp.preserve_inputs=0 contradict each "
        "other; give one of them",
    ),
    (
        ["--usmp-time-budget=soon"],
        'argument --usmp-time-budget: "soon" is no duration; write a number and ms, s, min or h, '
        "such as 500ms or 10s. See tvmc compile --help",
    ),
    (
        ["--pass-config", "tir.usmp.time_budget=0"],
        'tir.usmp.time_budget: "0" is no duration; write a number and ms, s, min or h, such as '
        "500ms or 10s",
    ),
    (
        ["--usmp-time-budget=2s", "--usmp-algorithm=hill_climb"],
        "tir.usmp.time_budget is for tir.usmp.algorithm=auto or exact, not for hill_climb",
    ),
    (
        ["--usmp-algorithm=nope"],
        "The selected USMP algorithm : nope is not defined. Algorithms: auto, exact, "
        "greedy_by_size, greedy_by_conflicts, hill_climb, no_sharing",
    ),
]


def test_wrong_pools():
    """What reads the flags says what is wrong with them."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_pool_options(parser)
    targets = parse_targets("accel,c")

    def check(flags: list[str], message: str) -> None:
        with pytest.raises(ValueError) as error:
            options = parser.parse_args(split_pool_flags(flags))
            memory_pools(options, targets)
            state_pool(options, targets)
        assert str(error.value) == message

    wrong = WRONG_VALUES + WRONG_TARGETS + WRONG_POOLS
    check_all({f"{index} {' '.join(each[0])}": each for index, each in enumerate(wrong)}, check)


@pytest.mark.parametrize(
    ("flags", "message"),
    [WRONG_VALUES[0], WRONG_TARGETS[0], WRONG_POOLS[0], *WRONG_FLAGS],
    ids=lambda value: str(value),
)
def test_wrong_flags(refused, small_model, flags, message):
    with registered(quantized_operator("accel.lstm", "lstm")):
        assert refused("compile", small_model, "--target=accel,c", *flags) == message
