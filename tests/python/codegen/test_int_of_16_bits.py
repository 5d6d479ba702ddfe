"""Models on an emulated ATmega2560, whose `int` has 16 bits and `double` 32."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.script import ir as I
from tvm.script import tirx as T

import usmp
from support import levels
from support.avr import compile_for_avr, run_models_on_avr, run_on_avr
from support.imported_models import imported
from support.intrinsic_arguments import columns_of, definitions_of, in_c
from support.quantized_models import CATALOG
from support.signal_models import front_end
from support.tflite_tensors import extreme_inputs, graph_tensors, random_inputs
from usmp.codegen.c.source_files import C_INTRINSICS
from usmp.codegen.llvm.intrinsics import LLVM_INTRINSICS
from usmp.device.device_files import device_files
from usmp.device.golden_runs import GoldenRun
from usmp.ops.quantized.rescaling.fixed_point import Rounding
from usmp.ops.quantized.rescaling.rescaled_arrays import rescaled
from usmp.runtime import HostModule
from usmp.runtime.archived.module import read_module

pytestmark = pytest.mark.board

MODELS = """
conv_2d_stride_2_same conv_2d_int16 conv_2d_uint8 conv_2d_vanishing_multiplier
depthwise_conv_2d_same depthwise_conv_2d_int16 depthwise_conv_2d_vanishing_multiplier
transpose_conv_uint8_stride_2 fully_connected_rows fully_connected_int16
fully_connected_uint8_relu batch_matmul_int16 add_same_shape add_int16 mul_same_shape mul_int16
div_same_shape squared_difference_int16 average_pool_2d_same average_pool_2d_int16
max_pool_2d_int16 mean_int16 leaky_relu_int16 prelu_lowest hard_swish_wide logistic_wide
logistic_int16 logistic_int16_power_of_two tanh_wide tanh_int16 tanh_int16_power_of_two
softmax_ten_classes softmax_int16 softmax_uint8_beta log_softmax_image
resize_bilinear_odd_up_centers resize_nearest_neighbor_odd_up_both resize_uint8_bilinear
quantize_int16_to_int32 quantize_float_to_int8 dequantize_int8 cumsum_last
l2_normalization_lowest_zero_point svdf_plain lstm_plain lstm_int16 sequence_attention
""".split()


@pytest.mark.slow
def test_models(tmp_path):
    from support.litert import Reference
    from support.micro import Micro

    oracles = {"micro": Micro, "litert": Reference}
    chosen = [model for model in CATALOG if model.name in levels.sample(MODELS, 8)]
    built, expected = [], {}
    for model in chosen:
        content = model.make()
        tensors, _ = graph_tensors(content)
        inputs = [random_inputs(tensors, 0), random_inputs(tensors, 1), *extreme_inputs(tensors)]
        reference = oracles[model.oracle](content)
        expected[model.name] = [reference.run(each) for each in inputs]
        built.append((usmp.build(imported(model), module_name=model.name), inputs))
    different = [
        model.name
        for model, actual in zip(chosen, run_models_on_avr(built, tmp_path, "-Os"), strict=True)
        if [{k: v.tobytes() for k, v in run.items()} for run in actual]
        != [{k: v.tobytes() for k, v in run.items()} for run in expected[model.name]]
    ]
    assert different == []


@pytest.mark.slow
def test_the_front_end_of_a_keyword_spotter(tmp_path):
    """Windows, spectra and logarithms of samples, and what is kept between runs."""
    content, path = front_end(), tmp_path / "front_end.tflite"
    path.write_bytes(content)
    factory = usmp.build(usmp.import_model(path))
    inputs = [random_inputs(graph_tensors(content)[0], seed) for seed in range(4)]
    host = HostModule(factory.files(), factory.metadata["modules"]["default"], ["-O0"])
    (actual,) = run_models_on_avr([(factory, inputs)], tmp_path, "-Os")
    for run, each in zip(actual, inputs, strict=True):
        np.testing.assert_equal(run, host.run(each))


@pytest.mark.parametrize("added", [0, 1])
def test_the_self_test_of_a_device(added, tmp_path):
    """It passes, and names the output that is another one."""
    from support.micro import Micro

    model = next(model for model in CATALOG if model.name == "add_int16")
    factory = usmp.build(imported(model))
    inputs = random_inputs(graph_tensors(model.make())[0], 0)
    outputs = Micro(model.make()).run(inputs)
    (name,) = outputs
    outputs[name] = outputs[name] + np.int16(added)
    run = GoldenRun("main", {}, inputs, outputs)
    code = {n: text for n, text in factory.files().items() if n.startswith("codegen/")}
    module = read_module("default", factory.metadata["modules"]["default"])
    files = {n.rpartition("/")[2]: t.decode() for n, t in code.items()}
    files |= {n: t.decode() for n, t in device_files(module, code, [run, run]).items()}
    files["main.c"] = """#include "board.h"
#include "tvmgen_default_device.h"

int main(void) {
  int32_t result;
  begin();
  result = tvmgen_default_self_test();
  write_outputs(&result, sizeof(result));
  for (;;) {
  }
}
"""
    written = run_on_avr(files, b"", 4, tmp_path, "-Os")
    assert int.from_bytes(written, "little", signed=True) == added


def test_functions_of_fixed_point_arithmetic(tmp_path):
    """All of them compute what they compute where `int` has 32 bits."""
    names = list(C_INTRINSICS)
    # Edges come first.
    columns = {name: [column[:60] for column in columns_of(name)] for name in names}
    calls, inputs = [], []
    for name in names:
        places = [f"{dtype}_t a{i};" for i, dtype in enumerate(LLVM_INTRINSICS[name][1])]
        reads = [f"read_inputs(&a{i}, sizeof(a{i}));" for i in range(len(places))]
        passed = ", ".join(f"a{i}" for i in range(len(places)))
        calls.append(f"""  for (uint8_t i = 0; i < {len(columns[name][0])}; ++i) {{
    {" ".join(places)}
    {" ".join(reads)}
    const int32_t result = {name}({passed});
    write_outputs(&result, sizeof(result));
  }}""")
        rows = zip(*columns[name], strict=True)
        inputs += [argument.tobytes() for row in rows for argument in row]
    main = f"""#include "board.h"

{definitions_of(*names)}
int main(void) {{
  begin();
{chr(10).join(calls)}
  for (;;) {{
  }}
}}
"""
    count = sum(4 * len(columns[name][0]) for name in names)
    written = run_on_avr({"main.c": main}, b"".join(inputs), count, tmp_path, "-Os")
    results = iter(np.frombuffer(written, "<i4").tolist())
    expected = {name: in_c(name, columns[name], tmp_path) for name in names}
    assert {name: [next(results) for _ in expected[name]] for name in names} == expected


def test_products_of_floats(tmp_path):
    """Rounded as floats of 24 bits, most of them near a half."""
    generator = np.random.default_rng(5)
    shift = generator.integers(-31, 8, 400)
    multiplier = generator.integers(2**23, 2**24, len(shift)) << 7
    factor = multiplier * 2.0 ** (shift - 31)
    value = np.rint((np.floor(generator.uniform(-500, 500, len(shift))) + 0.5) / factor)
    value = np.clip(value, -(2.0**31) + 1, 2.0**31 - 1)
    arguments = np.stack([value, multiplier, shift], 1).astype("<i4")
    names = ("tvmgen_multiply_as_float", "tvmgen_multiply_by_float")
    main = f"""#include "board.h"

{"".join(f"{C_INTRINSICS[name]}{chr(10)}{chr(10)}" for name in names)}int main(void) {{
  begin();
  for (uint16_t i = 0; i < {len(shift)}; ++i) {{
    int32_t a[3], y[2];
    read_inputs(a, sizeof(a));
    y[0] = tvmgen_multiply_as_float(a[0], a[1], a[2]);
    y[1] = tvmgen_multiply_by_float(a[0], ((a[1] >> 7) & 0x7fffff) | (a[2] + 126) << 23);
    write_outputs(y, sizeof(y));
  }}
  for (;;) {{
  }}
}}
"""
    written = run_on_avr({"main.c": main}, arguments.tobytes(), 8 * len(shift), tmp_path, "-Os")
    expected = rescaled(*arguments.astype(np.int64).T, Rounding.AS_FLOAT)
    actual = np.frombuffer(written, "<i4").reshape(-1, 2)
    np.testing.assert_array_equal(actual[:, 0], expected)
    np.testing.assert_array_equal(actual[:, 1], expected)


@I.ir_module(s_tir=True)
class OfFloat64:
    @T.prim_func
    def __tvm_main__(x_ptr: T.handle("float64"), y_ptr: T.handle("float64")):
        x = T.decl_buffer((4,), "float64", data=x_ptr)
        y = T.decl_buffer((4,), "float64", data=y_ptr)
        for i in range(4):
            y[i] = x[i]


@I.ir_module(s_tir=True)
class OfConstants:
    @T.prim_func
    def __tvm_main__(x_ptr: T.handle("float32"), y_ptr: T.handle("float32")):
        x = T.decl_buffer((4,), "float32", data=x_ptr)
        y = T.decl_buffer((4,), "float32", data=y_ptr)
        for i in range(4):
            y[i] = T.Cast("float32", T.Select(x[i] > T.float32(0), T.float64(0.1), T.float64(2)))


@I.ir_module(s_tir=True)
class OfFloat32:
    @T.prim_func
    def __tvm_main__(x_ptr: T.handle("float32"), y_ptr: T.handle("float32")):
        x = T.decl_buffer((4,), "float32", data=x_ptr)
        y = T.decl_buffer((4,), "float32", data=y_ptr)
        for i in range(4):
            y[i] = x[i] * T.float32(0.1)


@pytest.mark.parametrize(
    ("mod", "dtype", "is_refused"),
    [(OfFloat64, "float64", True), (OfConstants, "float32", True), (OfFloat32, "float32", False)],
)
def test_float64_is_refused_where_double_has_32_bits(
    mod, dtype, is_refused, emit, compile_c, tmp_path
):
    header, source = emit(mod, [("x", [4], dtype)], [("y", [4], dtype)])
    (tmp_path / "tvmgen_default.h").write_text(header)
    (tmp_path / "source.c").write_text(source)
    printed = compile_for_avr(tmp_path / "source.c")
    errors = [line for line in printed.splitlines() if " error: " in line]
    assert [("TVMGEN_DOUBLE_HAS_64_BITS" in e, "negative" in e) for e in errors] == (
        [(True, True)] if is_refused else []
    )
    assert printed == "" or is_refused
    compile_c(source)
