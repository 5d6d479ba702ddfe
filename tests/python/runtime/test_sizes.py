"""Symbolic sizes on this host: they follow from the inputs, are checked, and are read back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tvm.ir.transform import PassContext

import usmp
from support.archives import edited, message_of, relu_archive, write_tar
from support.attention import attention
from support.symbolic_models import attending, build_symbolic, build_two_sizes
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.runtime import HostProfiler
from usmp.runtime.sizes import at_sizes, known_sizes, sizes_of_run
from usmp.transform import CallOperatorHooks

SEQ = {"seq": {"c_name": "seq", "min": 1, "max": 16}}
BOTH = {"n": {"c_name": "n", "min": 2, "max": 9}, **SEQ}


def info(*shape: object, dtype: str = "float32") -> dict:
    return {"dtype": dtype, "shape": [0] * len(shape), "symbolic_shape": list(shape)}


def array(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


# ---- sizes of shapes


@pytest.mark.parametrize(
    ("inputs", "arrays", "sizes"),
    [
        ({"x": info(1, "seq", 4)}, {"x": array(1, 7, 4)}, {"seq": 7}),
        ({"x": info("n", "seq")}, {"x": array(3, 7)}, {"n": 3, "seq": 7}),
        ({"x": info(["+", "seq", "n"]), "y": info("n")}, {"x": array(9), "y": array(3)}, None),
        ({"x": info(["+", ["*", 2, "seq"], 1], "n")}, {"x": array(9, 2)}, {"seq": 4, "n": 2}),
        ({"x": info(["//", "seq", 2]), "y": info("seq", "n")}, {"x": array(2)}, {}),
        ({"x": info("seq"), "y": info("n")}, {"x": array(2)}, {"seq": 2}),
    ],
    ids=str,
)
def test_sizes_that_follow_from_shapes(inputs, arrays, sizes):
    expected = {"seq": 6, "n": 3} if sizes is None else sizes
    assert known_sizes(BOTH, inputs, arrays) == expected


def test_sizes_that_are_given():
    inputs = {"x": info(["+", "seq", "n"])}
    assert sizes_of_run(BOTH, inputs, {"x": array(9)}, {"n": np.int64(4)}) == {"n": 4, "seq": 5}
    assert sizes_of_run(BOTH, inputs, {}, {"n": 4, "seq": 2}) == {"n": 4, "seq": 2}


@pytest.mark.parametrize(
    ("arrays", "given", "fault"),
    [
        ({}, {"seq": 3}, 'size "n" does not follow from the shapes of the inputs; give it, 2 to 9'),
        ({"x": array(17, 5)}, {}, 'size "seq" is 17, by axis 0 of input "x"; the model takes 1 to'),
        ({"x": array(3, 1)}, {}, 'size "n" is -1, by axis 1 of input "x"; the model takes 2 to 9'),
        ({"x": array(3)}, {}, 'input "x" is float32[3]; the model takes float32[seq, n + 2]'),
        ({}, {"n": 10}, 'size "n" is 10; the model takes 2 to 9'),
        ({}, {"m": 10}, 'the model has no size "m". Its sizes: n, seq'),
        ({}, {"n": True}, 'size "n" is a number, not True'),
    ],
)
def test_sizes_that_a_model_does_not_take(arrays, given, fault):
    with pytest.raises(ValueError) as error:
        sizes_of_run(BOTH, {"x": info("seq", ["+", "n", 2])}, arrays, given)
    assert str(error.value).startswith(fault)


def test_sizes_are_whole_numbers():
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        sizes_of_run(SEQ, {}, {}, {"seq": 3.0})


def test_shapes_at_sizes():
    infos = {"x": info("seq", ["-", "seq", 3]), "y": {"dtype": "int8", "shape": [5]}}
    assert at_sizes(infos, {"seq": 4})["x"]["shape"] == [4, 1]
    assert at_sizes(infos, {"seq": 4})["y"] == infos["y"]
    assert infos["x"]["shape"] == [0, 0], "the archive's own description stays"
    with pytest.raises(ValueError) as error:
        at_sizes(infos, {"seq": 2})
    assert str(error.value) == (
        'tensor "x" of float32[seq, seq - 3] would be [2, -1] at seq=2; choose other sizes'
    )


# ---- models


@pytest.fixture(scope="module")
def factory() -> usmp.AOTExecutorFactoryModule:
    return build_symbolic(module_name="net")


@pytest.fixture(scope="module")
def archive(factory, tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.tar"
    factory.export_model_library_format(path)
    return path


@pytest.mark.cc
@pytest.mark.parametrize("io", [False, True])
def test_outputs_have_the_shape_of_the_run(tmp_path, io):
    build_symbolic(use_workspace_io=io).export_model_library_format(tmp_path / "net.tar")
    module = usmp.load_archive(tmp_path / "net.tar").load()
    generator = np.random.default_rng(0)
    for seq in (1, 16, 2, 7):
        x = generator.random((1, seq, 4), np.float32)
        y = module.run({"x": x})["y"]
        assert y.shape == (1, (seq - 1) // 2 + 1, 4)
        np.testing.assert_allclose(y, attending(x), rtol=1e-5)
        np.testing.assert_array_equal(y, module.run({"x": x}, sizes={"seq": seq})["y"])


@pytest.mark.cc
def test_faults_of_a_run(factory):
    faults = {
        'size "seq" is 17, by axis 1 of input "x"; the model takes 1 to 16': array(1, 17, 4),
        'size "seq" is 0, by axis 1 of input "x"; the model takes 1 to 16': array(1, 0, 4),
        'input "x" is float32[1, 4]; the model takes float32[1, seq, 4]': array(1, 4),
        'input "x" is float32[1, 3, 5]; the model takes float32[1, 3, 4] at seq=3 (float32[1, '
        "seq, 4])": array(1, 3, 5),
        'input "x" is int8[1, 3, 4]; the model takes float32[1, 3, 4] at seq=3 (float32[1, seq, '
        "4])": np.zeros((1, 3, 4), np.int8),
    }
    for fault, x in faults.items():
        with pytest.raises(ValueError) as error:
            factory.run({"x": x})
        assert str(error.value) == fault
    with pytest.raises(ValueError, match=r"takes float32\[1, 4, 4\] at seq=4"):
        factory.run({"x": array(1, 3, 4)}, sizes={"seq": 4})
    with pytest.raises(ValueError, match=r'has no input "z". Its inputs: x: float32\[1, seq, 4'):
        factory.run({"z": array(1, 3, 4)})


@pytest.mark.cc
def test_a_model_without_sizes_takes_none(tmp_path):
    module = usmp.load_archive(relu_archive(tmp_path)).load()
    with pytest.raises(ValueError, match=r'the model has no size "seq"\. Its sizes: none'):
        module.run({"x": np.ones((1, 4), np.float32)}, sizes={"seq": 4})


@pytest.mark.cc
@pytest.mark.parametrize("io", [False, True])
def test_two_sizes_of_several_entries(io):
    """One entry takes both, in the order of its struct; the other has one of another range."""
    module = build_two_sizes(use_workspace_io=io).load()
    assert {name: list(entry.sizes) for name, entry in module.entries.items()} == {
        "outer": ["rows", "columns"],
        "total": ["rows"],
    }
    generator = np.random.default_rng(0)
    for rows, columns in ((1, 1), (5, 7), (2, 3), (5, 1)):
        a, b = (generator.integers(-9, 9, size, np.int32) for size in (rows, columns))
        outputs = module.run({"a": a, "b": b}, "outer")
        np.testing.assert_array_equal(outputs["y"], np.outer(a, b))
        outputs = module.run({"a": a}, "total")
        np.testing.assert_array_equal(outputs["y"], [a.sum()])
    with pytest.raises(ValueError, match='size "rows" is 6, by axis 0 of input "a"; the model'):
        module.run({"a": np.ones(6, np.int32), "b": b}, "outer")
    outputs = module.run({"a": np.ones(9, np.int32)}, "total")
    assert outputs["y"].tolist() == [9]


# ---- archives


def test_metadata(factory):
    (main,) = factory.metadata["modules"]["net"]["memory"]["functions"]["main"]
    assert main["sizes"] == SEQ
    assert main["io_size_bytes"] == 256 + 128
    assert main["outputs"]["y"] == {
        "size": 128,
        "dtype": "float32",
        "shape": [1, 8, 4],
        "symbolic_shape": [1, ["+", ["//", ["-", "seq", 1], 2], 1], 4],
        "symbolic_shape_text": "[1, (seq - 1) // 2 + 1, 4]",
        "c_name": "y",
    }


def test_operators_are_described_at_the_largest_sizes(factory):
    scores, mix = factory.metadata["modules"]["net"]["operators"]
    assert [tensor["shape"] for tensor in (*scores["inputs"], *scores["outputs"])] == [[64], [256]]
    assert [tensor["shape"] for tensor in mix["outputs"]] == [[32]]


def test_what_is_read_back(archive):
    module = usmp.load_archive(archive).module()
    (entry,) = module.entries.values()
    seq = entry.sizes["seq"]
    assert (seq.name, seq.c_name, seq.lower_bound, seq.upper_bound) == ("seq", "seq", 1, 16)
    assert entry.inputs["x"].symbolic_shape == [1, "seq", 4]
    assert list(entry.inputs["x"].info.shape) == [1, 16, 4]


_MAIN = "modules/net/memory/functions/main/0"
_TENSOR = 'tensor "y" of module "net"'


@pytest.mark.parametrize(
    ("steps", "value", "fault"),
    [
        ("sizes", [], 'module "net" has no valid "sizes"'),
        ("sizes", {}, 'tensor "x" of module "net" has no valid "symbolic_shape"'),
        ("sizes/seq", 7, 'size "seq" of module "net" has no valid "min"'),
        ("sizes/seq/min", 0, 'size "seq" of module "net" has no valid "min"'),
        ("sizes/seq/max", 0, 'size "seq" of module "net" has no valid "max"'),
        ("sizes/seq/max", True, 'size "seq" of module "net" has no valid "max"'),
        ("sizes/seq/max", 2**31, 'size "seq" of module "net" has no valid "max"'),
        ("sizes/seq/c_name", "x); y(", 'size "seq" of module "net" has no valid "c_name"'),
        ("sizes/seq/min", 2, "SEQ_MIN is 2 there and 1 in the header"),
        ("sizes/seq/c_name", "n", "N_MIN is 1 there and missing in the header"),
        ("sizes/seq/max", 17, 'tensor "x" of module "net" of shape [1, seq, 4] is not [1, 16, 4]'),
        ("outputs/y/symbolic_shape", 7, f'{_TENSOR} has no valid "symbolic_shape"'),
        ("outputs/y/symbolic_shape", [1, 8], f'{_TENSOR} has no valid "symbolic_shape"'),
        ("outputs/y/symbolic_shape", [1, "n", 4], f'{_TENSOR} has no valid "symbolic_shape"'),
        (
            "outputs/y/symbolic_shape",
            [1, ["eval", "seq", 1], 4],
            f'{_TENSOR} has no valid "symbolic_shape"',
        ),
        ("outputs/y/symbolic_shape", [1, "seq", 4], f"{_TENSOR} of shape [1, seq, 4] is not"),
        (
            "outputs/y/symbolic_shape",
            [1, ["-", 24, "seq"], 4],
            f"{_TENSOR} of shape [1, 24 - seq, 4] is not [1, 8, 4] at most",
        ),
        ("outputs/y/symbolic_shape_text", "[8]", f'{_TENSOR} has no valid "symbolic_shape_text"'),
        ("outputs/y/symbolic_shape_text", None, f'{_TENSOR} has no valid "symbolic_shape_text"'),
        (
            "outputs/y/by_rows",
            {"rows": 8, "row_size": 16},
            f"{_TENSOR} is given or taken by rows, and depends on sizes",
        ),
    ],
    ids=str,
)
def test_damaged_metadata(archive, tmp_path, steps, value, fault):
    files = dict(usmp.load_archive(archive).files)
    metadata = edited(json.loads(files["metadata.json"]), f"{_MAIN}/{steps}", value)
    files["metadata.json"] = json.dumps(metadata).encode()
    message = message_of(write_tar(tmp_path / "model.tar", files))
    assert message.startswith(f"metadata.json is damaged: {fault}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "value", "fault"),
    [
        ("", 7, 'module "default" has no valid "workspace_sizes"'),
        ("/0/pool", None, 'module "default" has no valid "pool"'),
        ("/0/values", [["length", 1]], 'takes has no valid "values"'),
        ("/0/values", [["a", ["*", "b", 2]], ["b", 2]], 'takes has no valid "values"'),
        ("/0/bytes", ["eval", "length", 1], 'takes has no valid "bytes"'),
        ("/0/text", "length\x1b[2J", 'takes has no valid "text"'),
    ],
    ids=str,
)
def test_damaged_bytes_of_runs(tmp_path, steps, value, fault):
    with PassContext(config={"tir.usmp.dynamic": "expression"}):
        files = usmp.build(attention(), max_sizes={"length": 6}).files()
    write_tar(tmp_path / "model.tar", files)
    (entry,) = usmp.load_archive(tmp_path / "model.tar").module().entries.values()
    assert list(entry.sizes) == ["length"]
    main = "modules/default/memory/functions/main/0/workspace_sizes"
    metadata = edited(json.loads(files["metadata.json"]), f"{main}{steps}", value)
    files = {**files, "metadata.json": json.dumps(metadata).encode()}
    assert fault in message_of(write_tar(tmp_path / "damaged.tar", files))


def test_archive_of_a_packed_interface_with_sizes(archive, tmp_path):
    files = dict(usmp.load_archive(archive).files)
    text = files["metadata.json"].replace(b'"interface_api": "c"', b'"interface_api": "packed"')
    message = message_of(write_tar(tmp_path / "model.tar", {**files, "metadata.json": text}))
    assert message.endswith("has symbolic sizes, which the packed interface cannot have")


@pytest.mark.parametrize(
    ("before", "after", "members"),
    [
        (b"  int32_t seq;  /* 1 to 16 */\n", b"", "x"),
        (b"  int32_t seq;", b"  void* seq;", "x, seq"),
        (b"  int32_t seq;", b"  int32_t seq;\n  int32_t n;", "x, int32_t seq, int32_t n"),
    ],
)
def test_header_with_other_sizes(archive, tmp_path, before, after, members):
    """The run would read what is behind the struct."""
    files = dict(usmp.load_archive(archive).files)
    header = "codegen/host/include/tvmgen_net.h"
    assert before in files[header]
    files[header] = files[header].replace(before, after)
    assert message_of(write_tar(tmp_path / "model.tar", files)) == (
        "metadata.json is damaged: struct tvmgen_net_inputs has the members x, int32_t seq there "
        f"and {members} in the header"
    )


@pytest.mark.cc
def test_profile():
    """Hooks around the operators change nothing of the sizes."""
    factory = build_symbolic()
    hooked = CallOperatorHooks("tvmgen_default")(factory.ir_mod)
    factory = AOTExecutorFactoryModule(hooked, "default")
    profiler = HostProfiler(factory.files(), factory.metadata["modules"]["default"])
    x = np.ones((1, 3, 4), np.float32)
    profile = profiler.measure({"x": x}, runs=1, sizes={"seq": 3})
    assert [operator.functions for operator in profile.operators] == [("scores",), ("mix",)]
    np.testing.assert_allclose(profiler.module.run({"x": x})["y"], attending(x), rtol=1e-5)
    with pytest.raises(ValueError, match=r"takes float32\[1, 4, 4\] at seq=4"):
        profiler.measure({"x": x}, runs=1, sizes={"seq": 4})
