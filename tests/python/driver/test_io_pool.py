"""Pools of inputs and outputs on the command lines: `--io-pool`, and `io=` of a pool."""

from __future__ import annotations

import json

import pytest

from support.tflite_file import one_operator_model
from usmp import WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.driver.explore.options import configurations
from usmp.driver.opt import opt
from usmp.driver.options.pool_flags import split_pool_flags
from usmp.driver.python.functions import TVMCModel, compile
from usmp.driver.tvmc import _parser
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.usefixtures("one_session")

LISTED = ["--workspace-pools=ccm,sram", "--workspace-io"]
WAYS = {
    "io-pool": [*LISTED, "--io-pool=sram"],
    "two-words": [*LISTED, "--io-pool", "sram"],
    "no": [*LISTED, "--workspace-pools-io=ccm:no"],
    "only": [
        "--usmp-workspace-pools=ccm,sram",
        "--usmp-workspace-pool-sram=io=only;target=c",
        "--pass-config=tir.usmp.use_workspace_io=1",
    ],
}


def kinds(memory: dict) -> dict[str, set[str]]:
    pools = [pool for pool in memory["pools"] if pool["kind"] == "workspace"]
    return {pool["name"]: {b["kind"] for b in pool["buffers"]} for pool in pools}


@pytest.mark.parametrize("way", WAYS)
def test_where_inputs_and_outputs_lie(tvmc, small_model, way):
    plan = json.loads(tvmc("plan", small_model, *WAYS[way], "--format=json").stdout)
    assert kinds(plan) == {"ccm": set(), "sram": {"input", "output"}}


def test_without(tvmc, small_model):
    plan = json.loads(tvmc("plan", small_model, *LISTED, "--format=json").stdout)
    assert kinds(plan) == {"ccm": {"input", "output"}, "sram": set()}


@pytest.mark.slow
def test_what_reports_say(tvmc, small_model):
    flags = [*WAYS["io-pool"], "--workspace-pools-io=ccm:no"]
    sentence = (
        "All inputs and outputs lie in sram, the I/O pool. Of ccm: no inputs and outputs (io=no)."
    )
    assert tvmc("compile", small_model, *flags, "-o", "m.tar").status == 0
    for command in (["plan", "m.tar"], ["explain", "m.tar"]):
        assert sentence in " ".join(tvmc(*command).stdout.split())
    restricted = tvmc("plan", small_model, *WAYS["only"], "--map").stdout
    assert "sram (workspace: inputs and outputs only)" in restricted


@pytest.mark.slow
def test_explain_tries_no_other_place_for_them(tvmc, small_model):
    for flags in (WAYS["io-pool"], WAYS["no"]):
        text = tvmc("explain", small_model, *flags).stdout
        assert "each planned again" in text
        assert "use_workspace_io" not in text


def test_explore_leaves_them_in_the_workspace():
    def found(*flags: str):
        given = split_pool_flags(["explore", "m.tflite", "--workspace-pools=ccm,sram", *flags])
        return configurations(_parser().parse_args(given))

    assert len(found()) == len(found("--workspace-pools-io=ccm:any")) == 24
    for flags in (["--io-pool=sram"], ["--workspace-pools-io=ccm:no"]):
        each = found(*flags)
        assert len(each) == 12
        assert all("--workspace-io" in one.arguments for one in each)
        assert all(flags[0] in one.arguments for one in each)
    varied = found("--workspace-io", "--vary=io-pool=ccm,sram")
    assert [one.arguments[-1] for one in varied] == ["--io-pool=ccm", "--io-pool=sram"]


@pytest.mark.slow
@pytest.mark.board
def test_check_of_boards_with_and_without_the_memory(tvmc, small_model):
    flags = ["--io-pool=isram", "--boards=mps2-an505,mps2-an385", "--format=json"]
    targets = {
        t["name"]: t for t in json.loads(tvmc("check", small_model, *flags).stdout)["targets"]
    }
    assert {name: target["fits"] for name, target in targets.items()} == {
        "mps2-an505": True,
        "mps2-an385": False,
    }
    assert 'has no memory "isram". ' in targets["mps2-an385"]["why_not"]
    assert targets["mps2-an385"]["fitting"] is None, "no option adds a memory"


REFUSED = [
    (
        ["--workspace-pools=ccm,sram", "--io-pool=sram"],
        'I/O pool "sram": inputs and outputs are not in the workspace, so that no pool holds them; '
        "place them there with tir.usmp.use_workspace_io=1 (tvmc: --workspace-io), or leave it out",
    ),
    (
        [*LISTED, "--io-pool=dma"],
        'I/O pool "dma" is no workspace pool. Workspace pools: ccm, sram',
    ),
    *(
        (
            [*where, "--io-pool="],
            "the name of the I/O pool is missing; name a workspace pool (--io-pool POOL; in Python "
            "io_memory_pool), or leave it out",
        )
        for where in (LISTED, ["--board=mps2-an505"])
    ),
    (
        ["--workspace-io", "--io-pool=sram"],
        'I/O pool "sram" is no workspace pool. Workspace pools: none; list them '
        "(--workspace-pools)",
    ),
    (
        [*LISTED, "--io-pool=sram", "--state-pool=sram"],
        'I/O pool "sram" is the state pool, which holds nothing but state; name another pool for '
        "one of them",
    ),
    (
        [*LISTED, "--constant-pools=rom", "--constant-pools-io=rom:only"],
        'constant pool "rom": io=only is for workspace pools, since no input and no output is '
        "constant; leave it out",
    ),
    (
        ["--board=mps2-an505", "--io-pool=ccm"],
        'board mps2-an505 has no memory "ccm". Its memories: flash, sram, isram, psram',
    ),
]


@pytest.mark.parametrize(("flags", "message"), REFUSED)
def test_what_is_refused(refused, small_model, flags, message):
    assert message in refused("compile", small_model, *flags)


def test_in_python(tmp_path):
    pools = WorkspaceMemoryPools([WorkspacePoolInfo(name, ["c"]) for name in ("ccm", "sram")])
    package = compile(
        TVMCModel(import_tflite(one_operator_model())),
        pass_context_configs=["tir.usmp.use_workspace_io=1"],
        workspace_pools=pools,
        io_pool="sram",
        package_path=tmp_path / "m.tar",
    )
    (module,) = package.metadata["modules"].values()
    assert kinds(module["memory"]) == {"ccm": set(), "sram": {"input", "output"}}


SCRIPT = """
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def __tvm_main__(x: T.Buffer((4,), "int8"), y: T.Buffer((4,), "int8")):
        T.func_attr({"target": T.target("c")})
        a = T.alloc_buffer((1,), "int8")
        for i in range(4):
            a[0] = x[i] + T.int8(1)
            y[i] = a[0] + a[0]
"""


def test_usmp_opt(tmp_path, capfd):
    """Passes that the user lists see the pool."""
    path = tmp_path / "module.py"
    path.write_text(SCRIPT)
    passes = "--passes=CreateAllocatesForIO,AssignPoolInfo,UnifiedStaticMemoryPlanner"
    flags = ["--workspace-pools=ccm,sram", "--io-pool=sram"]
    assert opt.main([str(path), passes, *flags]) == 0
    printed = capfd.readouterr().out
    assert 'ccm_0_var: T.handle("uint8", "global"), sram_1_var' in printed
    assert opt.main([str(path), "--passes=UnifiedStaticMemoryPlanner", *flags]) == 1
    assert "inputs and outputs are not in the workspace" in capfd.readouterr().err
