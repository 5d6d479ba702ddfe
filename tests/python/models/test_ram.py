"""RAM in all, and what it would be with inputs and outputs in the workspace."""

from __future__ import annotations

import pytest
from tvm.ir.transform import PassContext

import usmp
from support.levels import number
from support.public_models import imported
from support.quantized_models.masks import image_to_mask
from support.relax_models import bound_attention
from support.tflite_file import one_operator_model
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.usefixtures("digits_session")


def ram(model, options=None, **arguments) -> dict[str, int]:
    config = {f"tir.usmp.{name}": value for name, value in (options or {}).items()}
    with PassContext(config=config):
        factory = usmp.build(model, **arguments)
    found = factory.metadata["modules"]["default"]["memory"]["ram"]
    assert factory.ram_bytes == found["size_bytes"]
    return found


RAM = {
    # workspace, inputs and outputs, state, all with inputs and outputs in the workspace
    "tflm_hello_world_int8": (28, 2, 0, 28),
    "tflm_mnist_lstm_int8": (644, 794, 60, 868),
    "mww_okay_nabu_v2_int8": (3873, 121, 3473, 3873),
    "mlperf_kws_int8": (3904, 502, 0, 4314),
    "mlperf_vww_96_int8": (10008, 27650, 0, 27760),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(RAM)[: number(2, 5)])
def test_ram_of_a_model(shared_model, name):
    workspace, tensors, state, with_workspace_io = RAM[name]
    mod = imported(shared_model(name))
    assert ram(mod, compare_workspace_io=True) == {
        "size_bytes": workspace + tensors,
        "workspace_size_bytes": workspace,
        "io_size_bytes": tensors,
        "state_size_bytes": state,
        "size_bytes_with_workspace_io": with_workspace_io,
    }
    assert ram(mod, {"use_workspace_io": True}, compare_workspace_io=True) == {
        "size_bytes": with_workspace_io,
        "workspace_size_bytes": with_workspace_io,
        "io_size_bytes": 0,
        "state_size_bytes": state,
    }


def attention_ram(options=None, **arguments) -> dict[str, int]:
    return ram(bound_attention(), options, **arguments)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["auto", "exact", "greedy_by_size", "no_sharing"])
def test_the_comparison_is_what_the_same_algorithm_makes(algorithm):
    compared = attention_ram({"algorithm": algorithm}, compare_workspace_io=True)
    built = attention_ram({"algorithm": algorithm, "use_workspace_io": True})
    assert compared["size_bytes_with_workspace_io"] == built["size_bytes"]


def test_the_comparison_makes_the_choices_of_each_entry_anew():
    """Rings that suit inputs outside of the workspace would take 392 bytes with them inside."""
    models = {name: import_tflite(image_to_mask(2)) for name in ("one", "two")}
    compared = ram(models, compare_workspace_io=True)
    built = ram(models, {"use_workspace_io": True})
    assert compared["size_bytes_with_workspace_io"] == built["size_bytes"] == 304
    del compared["size_bytes_with_workspace_io"]
    assert compared == ram(models)


@pytest.mark.slow
def test_planning_twice_changes_no_plan():
    compared = attention_ram(compare_workspace_io=True)
    del compared["size_bytes_with_workspace_io"]
    assert compared == attention_ram()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"custom_algorithm": "greedy_by_size"}, {}),
        ({"use_workspace_io": True}, {}),
        ({}, {"executor": usmp.Executor("aot", {"interface-api": "packed"})}),
        ({}, {"board": "mps2-an385"}),
    ],
    ids=["custom", "workspace io", "packed", "board"],
)
def test_where_there_is_nothing_to_compare(options, arguments):
    compared = attention_ram(options, compare_workspace_io=True, **arguments)
    assert "size_bytes_with_workspace_io" not in compared


def test_what_would_not_fit_is_not_told(tmp_path):
    (tmp_path / "relu.tflite").write_bytes(one_operator_model())
    properties = usmp.PoolInfoProperties(size_hint_bytes=8)
    pools = usmp.WorkspaceMemoryPools([usmp.WorkspacePoolInfo("sram", ["c"], properties)])
    assert ram(
        tmp_path / "relu.tflite", workspace_memory_pools=pools, compare_workspace_io=True
    ) == {
        "size_bytes": 32,
        "workspace_size_bytes": 0,
        "io_size_bytes": 32,
        "state_size_bytes": 0,
    }


@pytest.mark.slow
def test_a_compiled_model_is_three_lines_in_a_notebook(digits_model):
    assert repr(usmp.build(digits_model, module_name="digits")).splitlines() == [
        'AOTExecutorFactoryModule "digits": RAM 1002 bytes',
        "  pools: global_const_workspace 27112, global_workspace 928",
        "  image int8[1, 8, 8, 1] -> probabilities int8[1, 10]",
    ]
