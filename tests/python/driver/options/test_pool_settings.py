"""A memory pool of what a command line says of it: numbers, bytes, targets and what is refused."""

from __future__ import annotations

import pytest

from usmp.driver.errors import UsageError
from usmp.driver.options.pool_keys import Setting
from usmp.driver.options.pool_settings import constant_pool, workspace_pool
from usmp.objects import ConstantPoolInfo, PoolInfoProperties, WorkspacePoolInfo
from usmp.objects.target.targets import parse_targets

TARGETS = parse_targets("accel,c")
BOTH = {"accel": "rw", "c": "rw"}
LARGEST = 2**63 - 1


def settings(**texts):
    keys = {key.replace("_", "-"): text for key, text in texts.items()}
    return {key: Setting(text, f"--{key}={text}") for key, text in keys.items()}


def refusal(make=workspace_pool, **texts):
    with pytest.raises(UsageError) as error:
        make("sram", settings(**texts), TARGETS)
    return str(error.value)


def properties(**texts):
    return workspace_pool("sram", settings(**texts), TARGETS)


def with_properties(access=BOTH, **known):
    return WorkspacePoolInfo("sram", access, PoolInfoProperties(**known))


def test_a_pool_without_settings_is_for_all_targets():
    assert properties() == with_properties()
    assert constant_pool("flash", {}, TARGETS) == ConstantPoolInfo("flash", BOTH, None)


@pytest.mark.parametrize(
    ("text", "access"),
    [
        ("c", {"c": "rw"}),
        ("c:ro,accel", {"c": "ro", "accel": "rw"}),
        (" c : rw , accel : ro ", {"c": "rw", "accel": "ro"}),
    ],
)
def test_targets_may_read_or_write(text, access):
    assert properties(target=text) == with_properties(access)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" ", 'No target specified for Workspace Pool "sram"; --target=  names none'),
        (
            "c,gpu",
            'Workspace Pool "sram" using undefined Target "gpu"; --target has accel, c',
        ),
        ("c,c:ro", '--target=c,c:ro: target "c" is named twice'),
        (
            "c:w",
            '--target=c:w: access of target "c" must be "rw" or "ro", not "w"',
        ),
        (
            "c:",
            '--target=c:: access of target "c" must be "rw" or "ro", not ""',
        ),
        (
            "c:ro,accel:ro",
            'Workspace Pool "sram": no target may write it (c:ro, accel:ro), so it can hold '
            "nothing",
        ),
    ],
)
def test_targets_that_cannot_be_are_refused(text, expected):
    assert refusal(target=text) == expected


def test_constants_may_be_read_only():
    found = constant_pool("flash", settings(target="c:ro", size="8"), TARGETS)
    expected = ConstantPoolInfo("flash", {"c": "ro"}, None, PoolInfoProperties(size_hint_bytes=8))
    assert found == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("0x400", 1024),
        ("0X1f", 31),
        (" 007 ", 7),
        ("3k", 3072),
        ("3K", 3072),
        ("2m", 2 << 20),
        ("0x10M", 16 << 20),
        (str(LARGEST), LARGEST),
        # No limit, as TVM 0.18 wrote it.
        ("-1", -1),
    ],
)
def test_a_size_is_bytes(text, value):
    assert properties(size=text) == with_properties(size_hint_bytes=value)


@pytest.mark.parametrize("text", ["0", "-2", "1.5", "k", "1g", "1 k", "0x", "", "1kk"])
def test_a_size_that_is_none_is_refused(text):
    assert refusal(size=text) == (
        f"--size={text}: the value must be bytes, at least 1, such as 1000, 0x400 or 64K (K is "
        "1024, M is 1024K); leave it out for no limit"
    )


@pytest.mark.parametrize("text", [str(LARGEST + 1), f"{2**53}k", f"{2**43}M"])
def test_a_size_beyond_64_bits_is_refused(text):
    expected = f"--size={text}: the value must be at most {LARGEST}"
    assert refusal(size=text) == expected


@pytest.mark.parametrize(
    ("key", "least"),
    [
        ("clock_frequency_hz", 1),
        ("read_bandwidth_bytes_per_cycle", 1),
        ("write_bandwidth_bytes_per_cycle", 1),
        ("read_latency_cycles", 0),
        ("write_latency_cycles", 0),
    ],
)
def test_numbers_have_a_least_value(key, least):
    assert properties(**{key: str(least)}) == with_properties(**{key: least})
    assert properties(**{key: "0x10"}) == with_properties(**{key: 16})
    for text in (str(least - 1), "1k", "x"):
        if least == 1 and text == "-1":
            continue
        flag = f"--{key.replace('_', '-')}={text}"
        assert refusal(**{key: text}) == (
            f"{flag}: the value must be a whole number, at least {least}"
        )
    assert f"at most {LARGEST}" in refusal(**{key: str(LARGEST + 1)})


def test_a_number_that_is_unknown_is_that_of_tvm_018():
    assert properties(clock_frequency_hz="-1") == with_properties()
    # Latencies have no such number: none is 0 there.
    assert "at least 0" in refusal(read_latency_cycles="-1")


def test_places_may_be_zero_and_alignments_not():
    found = properties(pool_offset="0", address="0x1000", alignment="32")
    assert found == with_properties(pool_offset=0, address=4096, alignment=32)
    assert "at least 0, such as" in refusal(address="-1")
    assert refusal(address="-1").endswith("M is 1024K)")
    assert refusal(alignment="0").endswith(
        "at least 1, such as 1000, 0x400 or 64K (K is 1024, M is "
        "1024K); leave it out for the executor's"
    )
    assert refusal(alignment="3").startswith('Workspace Pool "sram": ')
    assert "alignment" in refusal(alignment="3")


def test_sections_and_what_may_lie_there_are_texts():
    found = properties(section=" .dtcm ", io=" only ", internal="")
    assert found == with_properties(section_name=".dtcm", io="only", is_internal=True)
    assert refusal(section="a b").startswith('Workspace Pool "sram": section_name must be')
    assert refusal(constant_pool, section="a b").startswith('Constant Pool "sram": ')


def test_bursts_are_a_number_for_each_target():
    found = properties(target_burst_bytes="c:4, accel : 0x10")
    assert found == with_properties(target_burst_bytes={"c": 4, "accel": 16})


@pytest.mark.parametrize(
    ("target", "text", "expected"),
    [
        ("c", "c", "write it as TARGET:BYTES, as in c:4"),
        ("c", "accel:4", 'target "accel" may not access the pool'),
        ("c", "c:4,c:8", 'target "c" is named twice'),
        ("c", "c:0", "the value must be a whole number, at least 1"),
    ],
)
def test_bursts_that_cannot_be_are_refused(target, text, expected):
    message = refusal(target=target, target_burst_bytes=text)
    assert message == f"--target-burst-bytes={text}: {expected}"


def test_bursts_of_a_target_that_is_not_there_are_refused():
    assert 'undefined Target "gpu"' in refusal(target_burst_bytes="gpu:4")
