"""The use cases of RFC 0009, its command lines as printed: models, and applications in C.

Each application runs under sanitizers, and must give the bytes that the model gives when all of its
pools are inside the emitted C.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tarfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import usmp
from support.c_program import SANITIZERS
from support.compilers import require, run_compiler
from support.levels import number
from support.model_applications import Model, application, cut, random_inputs, turns
from support.python_here import run_tvmc, working_in
from support.quantized_models.variables import VECTOR, delay
from support.small_digits import small_convolutions, small_digits

pytestmark = pytest.mark.usefixtures("digits_session")

U1 = "tvmc compile my_model.tflite --executor=aot --output-format=mlf --target=c"

U2 = """
    tvmc compile my_model_1.tflite
    --executor=aot
    --output-format=mlf
    --target=accel,c
    --usmp-workspace-pools=sram
    --usmp-workspace-pool-sram= "target=c:rw,accel:rw"
"""

U3 = """
    tvmc compile my_model.tflite
    --executor=aot
    --target=accel,c
    --usmp-workspace-pools=dtcm,sram
    --usmp-parameter-pools=itcm,flash
    --usmp-workspace-pool-dtcm= "target=c;size=1000" # Here the size is more of a hint
    --usmp-workspace-pool-sram= "target=c,accel"
    --usmp-parameter-pool-itcm= "target=c;size=5000" # Here the size is more of a hint
    --usmp-parameter-pool-flash= "target=c,accel"
"""
U3_SMALL = U3.replace("size=1000", "size=128").replace("size=5000", "size=500")
"""For the model of convolutions, all of which fits in the sizes that are printed."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Run a command line of the RFC on a model file, under a name of its own."""

    @cache
    def run(line: str, path: Path, name: str = "my_model") -> Model:
        words = shlex.split(re.sub(r"#.*", "", line))
        assert words[:2] == ["tvmc", "compile"]
        folder = tmp_path_factory.mktemp("tvmc")
        (folder / words[2]).symlink_to(path)
        with working_in(folder):
            printed = run_tvmc(*words[1:], "--module-name", name, "-o", "m.tar")
        with tarfile.open(folder / "m.tar") as archive:
            members = [member for member in archive if member.isfile()]
            files = {m.name.removeprefix("./"): archive.extractfile(m).read() for m in members}
        return Model(name, files, " ".join(printed.split()))

    return run


@pytest.fixture(scope="module")
def alone(compiled, tmp_path_factory):
    """What a model gives with the pools inside the emitted C, use case U1; by run."""

    @cache
    def run(path: Path) -> list[bytes]:
        model = compiled(U1, path)
        data = b"".join(random_inputs(model))
        outputs = cut(application(tmp_path_factory.mktemp("alone"), data, "", (model, {})))
        assert len(set(outputs)) > 1
        return outputs

    return run


@pytest.fixture(scope="module")
def small_models(tmp_path_factory) -> dict[str, Path]:
    contents = {
        "convolutions": small_convolutions(),
        "product": small_digits(),
        "delay": delay(VECTOR, "random"),
    }
    paths = {name: tmp_path_factory.mktemp("small") / f"{name}.tflite" for name in contents}
    for name, path in paths.items():
        path.write_bytes(contents[name])
    return paths


@pytest.fixture
def model_path(small_models, shared_model):
    return lambda name: small_models.get(name) or shared_model(name)


@pytest.fixture
def convolutions(small_models) -> Path:
    return small_models["convolutions"]


# ---- U1


@pytest.mark.slow
@pytest.mark.cc
def test_u1_gives_what_the_model_gives_in_python(compiled, alone, convolutions):
    module = usmp.build(usmp.import_model(convolutions)).load()
    outputs = alone(convolutions)
    for data, output in zip(random_inputs(compiled(U1, convolutions)), outputs, strict=True):
        image = np.frombuffer(data, np.int8).reshape(1, 8, 8, 2)
        assert module.run({"image": image})["probabilities"].tobytes() == output


# ---- U2

SHARED = """
static uint8_t sram[MAX(TVMGEN_MY_MODEL_1_SRAM_WORKSPACE_POOL_SIZE,
                        TVMGEN_MY_MODEL_2_SRAM_WORKSPACE_POOL_SIZE)] ALIGNED;
"""
OWN_OF_FIRST = """
static uint8_t sram_1[TVMGEN_MY_MODEL_1_SRAM_WORKSPACE_POOL_SIZE] ALIGNED;
"""
OWN_OF_SECOND = """
static uint8_t sram[TVMGEN_MY_MODEL_2_SRAM_WORKSPACE_POOL_SIZE] ALIGNED;
"""
STATE_BYTES = {"delay": 7, "mww_okay_nabu_v2_int8": 3473}
STATEFUL = [*STATE_BYTES][: number(1, 2)]


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("other", "other_bytes"), [("product", 10), ("mlperf_strww_int8", 3760)][: number(1, 2)]
)
def test_u2_two_models_share_a_workspace(compiled, alone, model_path, tmp_path, other, other_bytes):
    """Of the lines, one is as printed, and one without a blank."""
    paths = [model_path(name) for name in ("convolutions", other)]
    expected = [alone(path) for path in paths]
    lines = U2, U2.replace('= "', '="')
    first, second = (compiled(lines[i], p, f"my_model_{i + 1}") for i, p in enumerate(paths))
    data = turns(random_inputs(first), random_inputs(second))
    pools = {"sram": "sram"}
    output = application(tmp_path / "two", data, SHARED, (first, pools), (second, pools))
    assert output == turns(*expected)
    assert [model.size("sram") for model in (first, second)] == [192, other_bytes]


@pytest.mark.parametrize("stateful", STATEFUL)
def test_u2_who_keeps_state_is_told(compiled, model_path, stateful):
    model, kept = compiled(U2, model_path(stateful)), STATE_BYTES[stateful]
    assert (
        f"State, {kept} bytes, is kept between runs ({kept} in sram): nothing else "
        "may write these bytes." in model.printed
    )
    header = model.files["codegen/host/include/tvmgen_my_model.h"].decode()
    assert f"void* sram;  /* {model.size('sram')} bytes, aligned to 16, {kept} kept" in header


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("stateful", STATEFUL)
@pytest.mark.parametrize("internal", [False, True], ids=["own-array", "internal"])
def test_u2_a_model_with_state_has_a_workspace_of_its_own(
    compiled, alone, model_path, tmp_path, internal, stateful
):
    paths = [model_path(name) for name in (stateful, "product")]
    expected = [alone(path) for path in paths]
    line = U2.replace("accel:rw", "accel:rw;internal") if internal else U2
    first, second = compiled(line, paths[0], "my_model_1"), compiled(U2, paths[1], "my_model_2")
    data = turns(random_inputs(first), random_inputs(second))
    arrays = OWN_OF_SECOND if internal else OWN_OF_FIRST + OWN_OF_SECOND
    of_first = {} if internal else {"sram": "sram_1"}
    output = application(
        tmp_path / "two", data, arrays, (first, of_first), (second, {"sram": "sram"})
    )
    assert output == turns(*expected)


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("stateful", STATEFUL)
def test_u2_a_model_with_state_shares_between_streams(compiled, model_path, tmp_path, stateful):
    """Streams of one run: after reset it does not matter what another model left there."""
    paths = [model_path(name) for name in (stateful, "convolutions")]
    first, second = (compiled(U2, p, f"my_model_{i + 1}") for i, p in enumerate(paths))
    inputs = random_inputs(first), random_inputs(second)
    pools = {"sram": "sram"}
    reset = "tvmgen_my_model_1_reset(&my_model_1_pools);"
    output = application(
        tmp_path / "two", turns(*inputs), SHARED, (first, pools), (second, pools), after=reset
    )
    outputs = [
        application(
            tmp_path / model.name,
            b"".join(inputs[index]),
            re.sub(r"MAX\(.*?\)", f"{model.size('sram')}", SHARED, flags=re.DOTALL),
            (model, pools),
            after="" if index else reset,
        )
        for index, model in enumerate((first, second))
    ]
    assert output == turns(*map(cut, outputs))


# ---- U3

FOUR_POOLS = """
__attribute__((section(".dtcm_bss"))) static uint8_t
    dtcm[TVMGEN_MY_MODEL_DTCM_WORKSPACE_POOL_SIZE] ALIGNED;
__attribute__((section(".sram_bss"))) static uint8_t
    sram[TVMGEN_MY_MODEL_SRAM_WORKSPACE_POOL_SIZE] ALIGNED;
__attribute__((section(".itcm_rodata"))) static const uint8_t
    itcm[TVMGEN_MY_MODEL_ITCM_CONSTANT_POOL_SIZE] ALIGNED = {
    TVMGEN_MY_MODEL_ITCM_CONSTANT_POOL_DATA};
__attribute__((section(".flash_rodata"))) static const uint8_t
    flash[TVMGEN_MY_MODEL_FLASH_CONSTANT_POOL_SIZE] ALIGNED = {
    TVMGEN_MY_MODEL_FLASH_CONSTANT_POOL_DATA};
"""
NAMES = {pool: pool for pool in ("dtcm", "sram", "itcm", "flash")}


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("convolutions", U3_SMALL),
        ("mww_okay_nabu_v2_int8", U3.replace('= "', '="')),
        ("mlperf_strww_int8", U3),
    ][: number(1, 3)],
)
def test_u3_four_pools_of_the_application(compiled, alone, model_path, tmp_path, name, line):
    path = model_path(name)
    expected = alone(path)
    model = compiled(line, path)
    data = b"".join(random_inputs(model))
    output = application(tmp_path / "four", data, FOUR_POOLS, (model, NAMES))
    assert cut(output) == expected
    assert 0 < model.size("dtcm") <= 1000 and 0 < model.size("itcm") <= 5000
    assert model.size("sram") > 0 and model.size("flash") > 0


@pytest.mark.slow
@pytest.mark.cc
def test_u3_a_model_that_fits_in_the_first_pools(compiled, alone, convolutions, tmp_path):
    """As printed but for the size of `itcm`: the application is that of models that need all."""
    expected = alone(convolutions)
    model = compiled(U3.replace("size=5000", "size=50000"), convolutions)
    assert model.size("sram") == model.size("flash") == 0
    data = b"".join(random_inputs(model))
    flags = [*SANITIZERS, "-Wno-pedantic"]  # C99 has no arrays of 0 bytes, but compilers do.
    output = application(tmp_path / "two", data, FOUR_POOLS, (model, NAMES), flags=flags)
    assert cut(output) == expected


@pytest.mark.slow
@pytest.mark.cc
def test_u3_the_same_pools_inside_the_emitted_c(compiled, alone, convolutions, tmp_path):
    expected = alone(convolutions)
    inside = re.sub(r'= "(.*?)"', r'="\1;internal"', U3_SMALL)
    model = compiled(inside, convolutions)
    data = b"".join(random_inputs(model))
    assert cut(application(tmp_path / "inside", data, "", (model, {}))) == expected
    pools = {pool["name"]: pool for pool in model.metadata["memory"]["pools"]}
    assert sorted(pools) == ["dtcm", "flash", "itcm", "sram"]
    assert all(pool["internal"] for pool in pools.values())


@pytest.mark.slow
@pytest.mark.cc
def test_u3_a_pool_that_only_the_accelerator_may_access_stays_empty(compiled, convolutions):
    line = U3_SMALL.replace('pool-dtcm= "target=c;', 'pool-dtcm= "target=accel;')
    model = compiled(line, convolutions)
    assert model.size("dtcm") == 0 < model.size("sram")
    assert model.printed.endswith(
        "Pool dtcm stays empty: its size is 0, and its address may be NULL."
    )


@pytest.mark.board
def test_u3_the_sections_of_a_microcontroller(compiled, convolutions, tmp_path):
    """Every pool is where the linker script looks for it, and takes as many bytes as planned."""
    require("arm-none-eabi-gcc")
    model = compiled(U3_SMALL, convolutions)
    (tmp_path / "header").mkdir()
    header = model.files["codegen/host/include/tvmgen_my_model.h"]
    (tmp_path / "header/tvmgen_my_model.h").write_bytes(header)
    source = tmp_path / "pools.c"
    source.write_text(
        '#include "tvmgen_my_model.h"\n#define ALIGNED __attribute__((aligned(16)))\n'
        + FOUR_POOLS.replace("static ", "")
    )
    command = ["arm-none-eabi-gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    compiled_to = tmp_path / "pools.o"
    include = f"-I{tmp_path / 'header'}"
    run_compiler([*command, include, "-c", source, "-o", compiled_to])
    listed = subprocess.run(
        ["arm-none-eabi-size", "-A", compiled_to], capture_output=True, text=True, check=True
    )
    sizes = dict(re.findall(r"^(\.\w+)\s+(\d+)", listed.stdout, re.MULTILINE))
    for pool, section in zip(NAMES, ("_bss", "_bss", "_rodata", "_rodata"), strict=True):
        assert int(sizes[f".{pool}{section}"]) == model.size(pool)
