"""Functions of accelerators in the header, the source and the metadata."""

import pytest

from support.accelerator_models import MATMUL, attention, registered
from support.relax_models import PARAMS, Attention
from usmp import build
from usmp.codegen.interface.accelerator_functions import function_metadata

STRUCT = """\
/*!
 * \\brief Handles of the accelerators of TVM module "default", passed to their
 * functions as they are
 */
struct tvmgen_default_devices {
  void* accel;
};
"""

DECLARATION = """\
/*!
 * \\brief To be defined by the application, for accel. Returns 0; anything else
 * ends the run, which returns it.
 * Pattern: accel.matmul
 * output = matmul(input, constant0)
 * \\param input float32[1][16]
 * \\param constant0 float32[16][64]
 * \\param output float32[1][64]
 * \\param device its handle in the struct of devices
 */
int32_t tvmgen_default_accel_main_0(
    const float* input,
    const float* constant0,
    float* output,
    void* device);
"""

RUN = (
    "int32_t tvmgen_default_run(struct tvmgen_default_inputs* inputs, "
    "struct tvmgen_default_outputs* outputs, struct tvmgen_default_devices* devices)"
)


@pytest.mark.slow
def test_the_header_declares_handles_and_functions():
    header = attention().header
    assert header.count(STRUCT) == 1
    assert header.count(DECLARATION) == 1
    assert header.count(f"{RUN};") == 1
    assert header.count("int32_t tvmgen_default_accel_main_") == 2


@pytest.mark.slow
def test_the_source_defines_none_of_them():
    source = attention().source
    assert "extern " not in source
    assert "static TVMGEN_NOINLINE int32_t tvmgen_default_call_accel_main_0(" in source
    assert source.count("return tvmgen_default_accel_main_0((const float*)input, ") == 1
    assert f"{RUN} {{\n  const int32_t status = tvmgen_default___tvm_main__(" in source


@pytest.mark.slow
def test_the_prefix_is_that_of_the_model():
    with registered(MATMUL):
        factory = build(Attention, "accel,c", params=PARAMS, module_name="my net")
    symbols = [str(f.symbol) for f in factory.interface.accelerator_functions]
    assert symbols == ["tvmgen_my_net_accel_main_0", "tvmgen_my_net_accel_main_1"]


@pytest.mark.slow
def test_the_metadata_has_what_a_program_needs_to_write_the_functions():
    factory = attention()
    module = factory.metadata["modules"]["default"]
    assert module["target"] == ["c", "accel"]
    assert module["devices"] == ["accel"]
    assert module["accelerator_functions"] == [
        function_metadata(f) for f in factory.interface.accelerator_functions
    ]
    assert module["accelerator_functions"][0] == {
        "symbol": "tvmgen_default_accel_main_0",
        "target": "accel",
        "pattern": "accel.matmul",
        "parameters": [
            {"name": "input", "role": "input", "dtype": "float32", "shape": [1, 16]},
            {"name": "constant0", "role": "constant", "dtype": "float32", "shape": [16, 64]},
            {"name": "output", "role": "output", "dtype": "float32", "shape": [1, 64]},
        ],
        "operators": [
            {
                "name": "matmul",
                "arguments": ["input", "constant0"],
                "results": ["output"],
                "attributes": {},
            }
        ],
    }
    devices = {
        operator["function_name"]: operator["workspace"][0]["device"]
        for operator in module["memory"]["functions"]["operator_functions"]
    }
    assert devices["call_accel_main_0"] == 12
    assert devices["softmax"] == 1


@pytest.mark.slow
def test_the_metadata_says_what_an_operator_on_an_accelerator_takes_and_computes():
    operators = attention().metadata["modules"]["default"]["operators"]
    assert [operator["accelerators"] for operator in operators if "accelerators" in operator] == [
        ["accel"]
    ] * 3
    first = next(operator for operator in operators if "accelerators" in operator)
    assert first["functions"] == ["call_accel_main_0"]
    assert (first["macs"], first["steps"]) == (16 * 64, [{"kind": "matmul", "macs": 16 * 64}])
    assert first["inputs"] == [{"dtype": "float32", "shape": [1, 16]}]
    assert first["outputs"] == [{"dtype": "float32", "shape": [1, 64]}]
    # The accelerator only reads its constants.
    assert "constant0" in first["buffers"]["read"]
    assert not [name for name in first["buffers"]["written"] if name.startswith("constant")]


@pytest.mark.slow
def test_without_accelerators_the_metadata_says_nothing_of_them():
    module = attention("c").metadata["modules"]["default"]
    assert module["target"] == ["c"]
    assert "devices" not in module and "accelerator_functions" not in module


def test_targets_that_are_one_name_in_c():
    matmul = MATMUL[1]
    with (
        registered(("a-b.matmul", matmul, {}, _is_first), ("a_b.matmul", matmul)),
        pytest.raises(ValueError, match="in C; rename a target"),
    ):
        _ = build(Attention, "a-b,a_b,c", params=PARAMS).header


def _is_first(context) -> bool:
    return [int(extent) for extent in context.matched_expr.ty.shape] == [1, 16]
