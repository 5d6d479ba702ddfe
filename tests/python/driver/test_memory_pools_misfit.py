"""Memory pools in which a model has no place: what is too small, and what would do.

`greedy_by_size` without overlap needs 448 bytes, and 1792 of constants.
"""

from __future__ import annotations

import pytest

from usmp.algorithms import DoesNotFitError
from usmp.driver.build.misfit_advice import misfit_advice
from usmp.driver.options.build_words import parse_build

pytestmark = pytest.mark.usefixtures("one_session")

NO_STREAMING = "--disabled-pass=StreamOperators"
GREEDY = (
    "--usmp-algorithm=greedy_by_size",
    "--disabled-pass=OverlapInputsAndOutputs",
    NO_STREAMING,
)

TOO_SMALL = (
    "TVM USMP Error: the space available in the provided pools exceeded when trying to allocate "
    "the buffer : {buffer} alignment 16). {pools}. Please increase the size_hints for memory "
    "pools. The smallest size_hint_bytes with which the same algorithm succeeds: {least}. Another "
    "pool among the candidates of the buffer, or another tir.usmp.algorithm, may also help. "
    f"Options that need less memory: tvmc explain {{model}} {' '.join(GREEDY)}"
)


def test_size_hint_that_is_too_small(refused, convolutions):
    flags = [*GREEDY, "--usmp-workspace-pools=sram", "--usmp-workspace-pool-sram=size=447"]
    assert refused("compile", convolutions, *flags) == TOO_SMALL.format(
        model=convolutions,
        buffer="conv2d1 (64 bytes,",
        pools='pool "sram": size_hint_bytes=447, 384 bytes already taken, the buffer would end '
        "at byte 448",
        least='448 for pool "sram"',
    )


@pytest.mark.slow
def test_size_hints_that_are_too_small_together(refused, convolutions):
    flags = [*GREEDY, "--workspace-pools=dtcm,sram"]
    flags += [f"--workspace-pools-size-hint-bytes={name}:300" for name in ("dtcm", "sram")]
    assert refused("compile", convolutions, *flags) == TOO_SMALL.format(
        model=convolutions,
        buffer="conv2d (384 bytes,",
        pools='pool "dtcm": size_hint_bytes=300, 0 bytes already taken, the buffer would end at '
        'byte 384. pool "sram": size_hint_bytes=300, 0 bytes already taken, the buffer would end '
        "at byte 384",
        least='384 for pool "dtcm", or 384 for pool "sram"',
    )


def test_the_smallest_size_is_told_however_many_pools_there_are(refused, convolutions):
    names = [f"memory_number_{index}" for index in range(24)]
    flags = [*GREEDY, f"--workspace-pools={','.join(names)}"]
    flags += [f"--workspace-pools-size-hint-bytes={name}:16" for name in names]
    message = refused("compile", convolutions, *flags)
    assert message.startswith(
        "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        'allocate the buffer : conv2d (384 bytes, alignment 16). pool "memory_number_0": '
    )
    assert (
        " ... Please increase the size_hints for memory pools. The smallest size_hint_bytes with "
        'which the same algorithm succeeds: 448 for pool "memory_number_0", or ' in message
    )
    assert len(message.partition(" Options that")[0]) < 2200


@pytest.mark.slow
def test_constant_pool_that_is_too_small(refused, convolutions):
    flags = [*GREEDY, "--usmp-parameter-pools=flash", "--usmp-parameter-pool-flash=size=100"]
    assert refused("compile", convolutions, *flags) == TOO_SMALL.format(
        model=convolutions,
        buffer="softmax_constant_1 (1024 bytes,",
        pools='pool "flash": size_hint_bytes=100, 0 bytes already taken, the buffer would end at '
        "byte 1024",
        least='1792 for pool "flash"',
    )


@pytest.mark.slow
def test_the_smallest_size_of_the_message_is_enough(tvmc, convolutions):
    for least in (["workspace", "sram", 448], ["constant", "flash", 1792]):
        side, name, size = least
        flags = [f"--{side}-pools={name}", f"--{side}-pools-size-hint-bytes={name}:{size}"]
        assert tvmc("compile", convolutions, *GREEDY, *flags).status == 0


@pytest.mark.slow
def test_auto_names_the_buffers_that_do_not_fit_together(refused, tvmc, convolutions):
    """With what they may share taken off."""
    pools = ["--usmp-workspace-pools=sram", "--usmp-workspace-pool-sram=size=191"]
    message = refused("compile", convolutions, *pools)
    assert message == (
        "TVM USMP Error: the space available in the provided pools exceeded when trying to "
        "allocate the buffer : conv2d_ring (144 bytes, alignment 16). "
        'pool "sram": size_hint_bytes=191. No plan fits: 2 buffers together need at least 192 '
        'bytes: "conv2d1" (64 bytes), "conv2d_ring" (144 bytes); without any one of them the rest '
        "fits. Please increase the size_hints for memory pools. The smallest size_hint_bytes with "
        'which a plan fits: 192 for pool "sram". Another pool among the candidates of the buffers '
        f"may also help. Options that need less memory: tvmc explain {convolutions}"
    )
    advised = message.rpartition("tvmc ")[2].split()
    assert tvmc(*advised, "--no-suggestions").status == 0
    pools[1] = f"{pools[1][:-3]}192"
    assert tvmc("compile", convolutions, *pools).status == 0


@pytest.mark.parametrize(
    ("flags", "advice"),
    [
        ("--workspace-io", "Options that need less memory: tvmc explain 'a b.tflite' {flags}"),
        (
            "--board=mps2-an386",
            "Options with which it fits, if any: tvmc check 'a b.tflite' --boards=mps2-an386",
        ),
        (
            "--board=mps2-an386 --state-pool=a",
            "Options that need less memory: tvmc explain 'a b.tflite' --board=mps2-an386",
        ),
        (
            "--board=mps2-an386 --workspace-pools=a --state-layout=states.json",
            "Options that need less memory: tvmc explain 'a b.tflite' --board=mps2-an386",
        ),
    ],
)
def test_what_to_do_next_is_a_command_with_all_options_but_those_of_memories(flags, advice):
    options = parse_build(flags.split())
    options.FILE = ["a b.tflite"]
    with pytest.raises(DoesNotFitError) as error, misfit_advice(options):
        raise DoesNotFitError(dict, words=lambda _: "Too small.")
    assert str(error.value) == f"Too small. {advice.format(flags=flags)}"


@pytest.mark.slow
def test_workspace_that_only_the_accelerator_may_access(refused, convolutions):
    flags = ["--usmp-workspace-pools=npu", "--usmp-workspace-pool-npu=target=accel"]
    assert refused("compile", convolutions, "--target=accel,c", *flags) == (
        "the model: no pool may hold buffer conv2d, which is written by target c of conv2d "
        "(npu: accel)"
    )


def test_workspace_that_the_cpu_may_only_read(refused, convolutions):
    flags = ["--usmp-workspace-pools=npu", "--usmp-workspace-pool-npu=target=accel,c:ro"]
    assert refused("compile", convolutions, "--target=accel,c", *flags) == (
        "the model: no pool may hold buffer conv2d, which is written by target c of conv2d "
        "(npu: accel, c (ro))"
    )


@pytest.mark.slow
def test_constants_that_only_the_accelerator_may_read(refused, convolutions):
    flags = ["--constant-pools=npu", "--constant-pools-targets=npu:accel"]
    assert refused("compile", convolutions, "--target=accel,c", *flags) == (
        "the model: no pool may hold buffer conv2d_constant_1, which is read by target c of "
        "__tvm_main__ (npu: accel)"
    )
