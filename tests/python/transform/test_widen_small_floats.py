"""float16 and bfloat16 are moved as they are, and computed in float32."""

import ctypes
import re

import ml_dtypes
import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from support.compilers import run_compiler
from support.lazy import lazy
from support.onnx_models import Graph, Reference
from usmp.codegen.c.small_floats import bits_of
from usmp.codegen.c.source_files import C_CONVERSIONS
from usmp.codegen.c.types import UnsupportedInC
from usmp.codegen.llvm import UnsupportedByLLVM
from usmp.runtime import HostModule
from usmp.tir.intrinsics import conversion_function

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

generator = np.random.default_rng(0)
X = (3 * generator.normal(size=(4, 6))).astype(np.float16)
X[0, :3] = 65504, np.inf, 6e-8
Y = (0.1 * generator.normal(size=(4, 6))).astype(np.float16)
SANITIZED = ("-O1", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all")


def graph_of(*nodes):
    """A model of x and y, float16; each node is an operator, its inputs and attributes."""
    graph = Graph()
    names = {name: graph.input(name, [4, 6], "float16") for name in ("x", "y")}
    names["w"] = graph.constant(generator.normal(size=(6, 5)), np.float16)
    for operator, *inputs, attributes in nodes:
        names["last"] = graph.node(operator, *(names[i] for i in inputs), **attributes)
    graph.node("Identity", names["last"], outputs=["output"])
    return graph


NODES = {
    "arithmetic": [("Add", "x", "y", {}), ("Mul", "last", "x", {}), ("Div", "last", "y", {})],
    "functions": [("Tanh", "x", {}), ("Exp", "last", {}), ("Floor", "x", {})],
    "product": [("MatMul", "y", "w", {})],
    "softmax": [("Softmax", "y", {"axis": 1})],
    "choice": [("Less", "x", "y", {}), ("Where", "last", "x", "y", {})],
    "pooling": [("ReduceMax", "x", {"axes": [1]}), ("Transpose", "last", {"perm": [1, 0]})],
}


@pytest.mark.models
@pytest.mark.parametrize("target", ["c", "llvm"])
@pytest.mark.parametrize("case", NODES)
def test_like_onnxruntime(case, target):
    content = graph_of(*NODES[case]).model("output", dtype="float16")
    inputs = {"x": X, "y": Y}
    expected = Reference(content).run(inputs)["output"]
    factory = usmp.build(import_onnx(content, None), target)
    flags = SANITIZED if target == "c" else ("-O1",)
    module = HostModule(factory.files(), factory.metadata["modules"]["default"], flags)
    output = module.run(inputs)["output"]
    assert output.dtype == np.float16
    # onnxruntime rounds after each operator, of which some are fused here.
    np.testing.assert_allclose(output, expected, rtol=2e-3)


@pytest.mark.models
@pytest.mark.parametrize("interface_io", [False, True])
def test_what_is_only_moved_is_not_converted(interface_io):
    bits = np.arange(24, dtype=np.uint16).reshape(4, 6) * 2999
    content = graph_of(
        ("Transpose", "x", {"perm": [1, 0]}), ("Concat", "last", "last", {"axis": 0})
    )
    config = {"tir.usmp.use_workspace_io": interface_io}
    with tvm.transform.PassContext(config=config):
        factory = usmp.build(import_onnx(content.model("output", dtype="float16"), None))
    assert "float32" not in factory.source.replace("float32_alias", "")
    output = factory.run({"x": bits.view(np.float16), "y": Y})["output"]
    np.testing.assert_array_equal(output.view(np.uint16), np.concatenate([bits.T, bits.T]))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_floats_of_8_bits_are_moved_only(model, dtype):
    shape = ("x", (2, 3), dtype)
    source = usmp.build(model(lambda _, x: relax.op.permute_dims(x), shape)).source
    assert "const uint8_t* x" in source
    with pytest.raises(UnsupportedInC) as error:
        _ = usmp.build(model(lambda _, x: relax.op.add(x, x), shape)).source
    assert f"arithmetic of {dtype} has no C99 form" in str(error.value)


@pytest.mark.cc
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_runs_are_copied_as_bytes(model, dtype):
    x = generator.integers(0, 256, 4 * 6 * np.dtype(dtype).itemsize, np.uint8)
    mod = model(
        lambda _, x: relax.op.nn.pad(x, [1, 1, 0, 3], "constant", 0.0), ("x", (4, 6), dtype)
    )
    factory = usmp.build(mod)
    assert {"tvmgen_copy", "tvmgen_fill"} <= set(re.findall(r"tvmgen_\w+", factory.source))
    output = factory.run({"x": x.view(dtype).reshape(4, 6)})["output"]
    expected = np.pad(x.reshape(4, -1), [(1, 1), (0, 3 * np.dtype(dtype).itemsize)])
    np.testing.assert_array_equal(output.view(np.uint8), expected)


@pytest.mark.cc
def test_bfloat16_inside_a_model(model):
    def body(builder, x):
        small = builder.emit(relax.op.astype(x, "bfloat16"))
        return builder.emit(
            relax.op.astype(builder.emit(relax.op.multiply(small, small)), "float32")
        )

    x = generator.normal(size=(100,)).astype(np.float32)
    output = usmp.build(model(body, ("x", (100,), "float32"))).run({"x": x})["output"]
    small = x.astype(ml_dtypes.bfloat16)
    np.testing.assert_allclose(output, (small * small).astype(np.float32), rtol=2**-8)


def test_bfloat16_is_for_target_c(model):
    mod = model(lambda _, x: relax.op.permute_dims(x), ("x", (2, 3), "bfloat16"))
    assert "const uint16_alias* x" in usmp.build(mod).source
    with pytest.raises(UnsupportedByLLVM) as error:
        _ = usmp.build(mod, "llvm").source
    assert str(error.value).endswith("has tensors of bfloat16; compile the model with target c")


@pytest.fixture(scope="module")
def conversions(tmp_path_factory):
    """The functions of the emitted C, by the types to and from."""
    folder = tmp_path_factory.mktemp("conversions")
    text = "\n".join(C_CONVERSIONS.values()).replace("static inline ", "")
    (folder / "code.c").write_text(f"#include <stdint.h>\n#include <string.h>\n{text}\n")
    command = ["gcc", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC", "code.c", "-o", "code.so"]
    run_compiler([*command, "-Werror", "-Wno-missing-prototypes"], cwd=folder)
    library = ctypes.CDLL(str(folder / "code.so"))
    bits, number = ctypes.c_uint16, ctypes.c_float
    found = {}
    small = ("float16", "bfloat16")
    for target, source in [*((s, "float32") for s in small), *(("float32", s) for s in small)]:
        function = library[conversion_function(target, source)]
        types = (number, bits) if target == "float32" else (bits, number)
        function.restype, function.argtypes = types[0], [types[1]]
        found[target, source] = function
    assert {conversion_function(*types) for types in found} == set(C_CONVERSIONS)
    return found


@pytest.mark.cc
@pytest.mark.parametrize("small", ["float16", "bfloat16"])
def test_conversions_of_all_numbers(conversions, small):
    dtype = np.dtype(getattr(ml_dtypes, small, np.float16))
    bits = np.arange(0, 2**16, 7, dtype=np.uint16)
    wide = bits.view(dtype).astype(np.float32)
    widen, narrow = conversions["float32", small], conversions[small, "float32"]
    found = np.array([widen(int(b)) for b in bits], np.float32)
    np.testing.assert_array_equal(found, wide)
    is_number = ~np.isnan(wide)
    back = [narrow(float(value)) for value in wide[is_number]]
    np.testing.assert_array_equal(np.array(back, np.uint16), bits[is_number])
    assert all(np.isnan(widen(narrow(float(value)))) for value in wide[~is_number])


@pytest.mark.cc
@pytest.mark.parametrize("small", ["float16", "bfloat16"])
def test_numbers_are_rounded_to_the_nearest(conversions, small):
    dtype = np.dtype(getattr(ml_dtypes, small, np.float16))
    patterns = generator.integers(0, 2**32, 4000, dtype=np.uint32)
    near_half = (generator.integers(-60000, 60000, 2000) * 2.0**-25).astype(np.float32)
    ties = (np.arange(-3000, 3000) * 0.5 * 2.0**-24).astype(np.float32)
    limits = np.array([65519.99, 65520, 65504, 1e6, np.inf, -np.inf], np.float32)
    values = np.concatenate([patterns.view(np.float32), near_half, ties, limits])
    values = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        expected = values.astype(dtype).view(np.uint16)
    narrow = conversions[small, "float32"]
    found = np.array([narrow(float(value)) for value in values], np.uint16)
    np.testing.assert_array_equal(found, expected)
    assert [bits_of(float(v), small) for v in values[:500]] == expected[:500].tolist()
