"""The packed interface: a shared library whose functions TVM's runtime loads and calls."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.target import Target

import usmp
from support.compilers import require, run_compiler
from support.interface_views import constants, interface, tensor, workspace
from support.relax_models import PARAMS, Attention, X, attention
from support.state_models import Streaming, streaming_model
from usmp import ConstantMemoryPools, ConstantPoolInfo, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.codegen.c.constants import constant_pool_bytes
from usmp.codegen.sources.entry_points import MainFunction
from usmp.codegen.sources.header import print_header
from usmp.codegen.sources.packed import print_packed_source
from usmp.runtime.c_compiler import tvm_ffi_include
from usmp.runtime.host import aligned_empty
from usmp.runtime.write_files import write_files

pytestmark = pytest.mark.cc

PACKED = usmp.Executor("aot", {"interface-api": "packed"})
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
POOLS = {
    "workspace_memory_pools": WorkspaceMemoryPools([WorkspacePoolInfo("sram", [Target("c")])]),
    "constant_memory_pools": ConstantMemoryPools([ConstantPoolInfo("flash", [Target("c")])]),
}


def library_of(folder, files, compiler="gcc"):
    """Build the sources as a user does; the shared library."""
    require(compiler)
    write_files(files, folder)
    include = [f"-I{folder}/codegen/host/include", *tvm_ffi_include()]
    sources = sorted(folder.glob("codegen/host/src/*.c"))
    command = [compiler, *STRICT, "-shared", "-fPIC", *include, *sources, "-lm"]
    run_compiler([*command, "-o", folder / "model.so"])
    return str(folder / "model.so")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e5m2", "uint8", "bool"])
def test_element_types(tmp_path, dtype):
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 4), dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            output = builder.emit_output(builder.emit(relax.op.permute_dims(x)))
        builder.emit_func_output(output)
    library_of(tmp_path, usmp.build(builder.get(), executor=PACKED).files())


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    """A model with internal pools, as a library."""
    factory = usmp.build(Attention, params=PARAMS, module_name="net", executor=PACKED)
    return library_of(tmp_path_factory.mktemp("net"), factory.files())


@pytest.fixture(scope="module")
def external(tmp_path_factory):
    """A model whose pools are arguments, as a library; and the pools, as arrays."""
    factory = usmp.build(Attention, params=PARAMS, module_name="net", executor=PACKED, **POOLS)
    library = library_of(tmp_path_factory.mktemp("external"), factory.files())
    flash, sram = factory.interface.pools
    arrays = [aligned_empty([pool.size_bytes], "uint8") for pool in (flash, sram)]
    arrays[0][...] = np.frombuffer(constant_pool_bytes(flash.info), np.uint8)
    return library, arrays


@pytest.mark.parametrize("load", [tvm.runtime.load_module, tvm_ffi.load_module])
def test_tensors_of_tvm(net, load):
    x, output = tvm.runtime.tensor(X), tvm.runtime.tensor(np.zeros_like(attention()))
    assert load(net)["tvmgen_net_run"](x, output) is None
    np.testing.assert_allclose(output.numpy(), attention(), rtol=1e-5)


def test_arrays_of_numpy(net):
    output = np.zeros_like(attention())
    run = tvm_ffi.load_module(net)["tvmgen_net_run"]
    run(tvm_ffi.from_dlpack(X.copy()), tvm_ffi.from_dlpack(output))
    np.testing.assert_allclose(output, attention(), rtol=1e-5)


def test_external_pools_follow_the_outputs(external):
    library, pools = external
    output = np.zeros_like(attention())
    arguments = [X.copy(), output, *pools]
    tvm_ffi.load_module(library)["tvmgen_net_run"](*map(tvm_ffi.from_dlpack, arguments))
    np.testing.assert_allclose(output, attention(), rtol=1e-5)


@pytest.mark.slow
def test_other_compilers_and_no_warning(tmp_path):
    factory = usmp.build(Attention, params=PARAMS, module_name="net", executor=PACKED)
    library_of(tmp_path, factory.files(), "clang")


@pytest.mark.slow
def test_the_operators_stay_c99_and_need_nothing(tmp_path):
    factory = usmp.build(Attention, params=PARAMS, module_name="net", executor=PACKED)
    assert sorted(factory.files()) == [
        "codegen/host/include/tvmgen_net.h",
        "codegen/host/src/net_lib0.c",
        "codegen/host/src/net_lib1.c",
        "metadata.json",
        "src/net.tir",
    ]
    assert "tvm/ffi" not in factory.source
    assert "#include <tvm/ffi/c_api.h>" in factory.sources[1]
    (tmp_path / "tvmgen_net.h").write_text(factory.header)
    (tmp_path / "net_lib0.c").write_text(factory.source)
    strict = ["-std=c99", *STRICT[1:], "-Wmissing-prototypes"]
    run_compiler(["gcc", *strict, "-c", "net_lib0.c", "-o", "x.o"], cwd=tmp_path)


def test_only_the_packed_function_and_the_main_function_are_external(net):
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", net], capture_output=True, text=True, check=True
    ).stdout.split()[2::3]
    assert [name for name in listed if "tvmgen" in name] == [
        "__tvm_ffi_tvmgen_net_run",
        "tvmgen_net___tvm_main__",
    ]


def unaligned(shape):
    """Float32 at an odd address."""
    raw = np.zeros(4 * int(np.prod(shape)) + 1, np.uint8)
    start = 1 if raw.ctypes.data % 2 == 0 else 0
    return np.ndarray(shape, np.float32, raw.data, start)


SHAPE, OUT = list(X.shape), list(attention().shape)
WRONG = {
    "one": (lambda x, y: [x], TypeError, "takes 2 arguments, not 1"),
    "three": (lambda x, y: [x, y, y], TypeError, "takes 2 arguments, not 3"),
    "number": (
        lambda x, y: [1, y],
        TypeError,
        f'input "x" must be float32{SHAPE}, not something that is no tensor',
    ),
    "none": (
        lambda x, y: [x, None],
        TypeError,
        f'output "output" must be float32{OUT}, not something that is no tensor',
    ),
    "dtype": (
        lambda x, y: [x.astype("float64"), y],
        TypeError,
        f'input "x" must be float32{SHAPE}, not float64{SHAPE}',
    ),
    "bool": (
        lambda x, y: [x, np.zeros(OUT, bool)],
        TypeError,
        f'output "output" must be float32{OUT}, not bool{OUT}',
    ),
    "shape": (
        lambda x, y: [x, y.ravel()],
        ValueError,
        f'output "output" must be float32{OUT}, not float32[{int(np.prod(OUT))}]',
    ),
    "rank": (
        lambda x, y: [np.zeros((1,) * 30, "float32"), y],
        ValueError,
        f'input "x" must be float32{SHAPE}, not float32{[1] * 30}',
    ),
    "strides": (
        lambda x, y: [np.repeat(x, 2, axis=-1)[..., ::2], y],
        ValueError,
        'input "x" must be contiguous',
    ),
    "alignment": (
        lambda x, y: [unaligned(SHAPE), y],
        ValueError,
        'input "x" must have an address that is a multiple of 4',
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments(net, case):
    make, kind, message = WRONG[case]
    output = np.full_like(attention(), 7)
    arguments = [
        tvm_ffi.from_dlpack(a) if isinstance(a, np.ndarray) else a for a in make(X.copy(), output)
    ]
    with pytest.raises(kind) as error:
        tvm_ffi.load_module(net)["tvmgen_net_run"](*arguments)
    assert str(error.value).split("\n")[0] == (f"tvmgen_net_run: {message}")
    assert (output == 7).all()


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (
            lambda pool: pool[:-1],
            ValueError,
            'workspace pool "sram" must be uint8[{0}] or more, not uint8[{1}]',
        ),
        (
            lambda pool: aligned_empty([pool.size + 16], "uint8")[1 : pool.size + 1],
            ValueError,
            'workspace pool "sram" must have an address that is a multiple of 16',
        ),
        (
            lambda pool: pool.view("int8"),
            TypeError,
            'workspace pool "sram" must be uint8[{0}] or more, not int8[{0}]',
        ),
    ],
    ids=["small", "unaligned", "dtype"],
)
def test_wrong_pools(external, change, kind, message):
    library, (flash, sram) = external
    arguments = [X.copy(), np.zeros_like(attention()), flash, change(sram)]
    with pytest.raises(kind) as error:
        tvm_ffi.load_module(library)["tvmgen_net_run"](*map(tvm_ffi.from_dlpack, arguments))
    text = message.format(sram.size, sram.size - 1)
    assert str(error.value).split("\n")[0] == f"tvmgen_net_run: {text}"


def test_a_pool_may_be_larger_and_of_any_shape(external):
    library, (flash, sram) = external
    larger = aligned_empty([4, sram.size], "uint8")
    output = np.zeros_like(attention())
    arguments = [X.copy(), output, flash, larger]
    tvm_ffi.load_module(library)["tvmgen_net_run"](*map(tvm_ffi.from_dlpack, arguments))
    np.testing.assert_allclose(output, attention(), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("pools", [{}, POOLS], ids=["internal", "external"])
def test_state_is_kept_until_it_is_reset(tmp_path, pools):
    pools = {name: value for name, value in pools.items() if name.startswith("workspace")}
    factory = usmp.build(streaming_model(), executor=PACKED, **pools)
    module = factory.load()
    values = np.random.default_rng(0).random((6, 1, 8)).astype("float32")
    reference = Streaming()
    for index, x in enumerate(values):
        if index == 3:
            module.reset()
            reference = Streaming()
        outputs, expected = module.run({"x": x}), reference.run(x)
        np.testing.assert_allclose(outputs["y"], expected["y"], rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(outputs["z"], expected["z"])


@pytest.mark.parametrize(
    ("shape", "dtype"), [((), "float32"), ((0, 3), "int8"), ((2,), "bool"), ((1,), "uint16")]
)
def test_tensors_of_any_kind(tmp_path, shape, dtype):
    """A main function that does nothing takes them, as the checks let them pass."""
    model = interface([tensor("x", shape, dtype)], [], [workspace(is_internal=True)])
    main = MainFunction("planned_main", ["const uint8_t*", "uint8_t*"])
    (tmp_path / "tvmgen_default.h").write_text(print_header(model))
    (tmp_path / "packed.c").write_text(
        f"{print_packed_source(model, [main])}\n"
        "void planned_main(const uint8_t* x, uint8_t* pool) { (void)x; (void)pool; }\n"
    )
    command = ["gcc", *STRICT, *tvm_ffi_include(), "-shared", "-fPIC", "packed.c", "-o", "x.so"]
    run_compiler(command, cwd=tmp_path)
    run = tvm_ffi.load_module(str(tmp_path / "x.so"))["tvmgen_default_run"]
    run(tvm_ffi.from_dlpack(np.zeros(shape, dtype)))
    with pytest.raises(ValueError, match="must be"):
        run(tvm_ffi.from_dlpack(np.zeros((5, *shape), dtype)))


def test_the_arguments_as_data():
    model = interface([tensor("x", (2, 3))], [tensor("y", (), "float32")], [constants()])
    main = MainFunction("planned_main", ["const int8_t*", "float*", "const uint8_t*"])
    source = print_packed_source(model, [main])
    start = source.index("static const int64_t shape_0")
    assert source[start : source.index("TVM_FFI_DLL_EXPORT")] == (
        "static const int64_t shape_0[] = {2, 3};\n"
        "static const int64_t shape_1[] = {1};\n"
        "static const struct tvmgen_argument arguments[] = {\n"
        '    {"input \\042x\\042", " must be int8[2, 3], not ", shape_0, 2, kDLInt, 8, 1, 6},\n'
        '    {"output \\042y\\042", " must be float32[], not ", shape_1, 0, kDLFloat, 32, 4, 4},\n'
        '    {"constant pool \\042flash\\042", " must be uint8[8] or more, not ", 0, 0, kDLUInt, 8,'
        " 16, 8},\n"
        "};\n"
        "\n"
    )
