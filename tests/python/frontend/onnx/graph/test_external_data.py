"""Values of ONNX models in other files: read from the model's folder, and from nowhere else."""

from __future__ import annotations

import os

import numpy as np
import pytest

import usmp
from support.lazy import lazy

onnx = lazy("onnx")
TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")
numpy_helper = lazy("onnx.numpy_helper")
read_onnx = lazy("usmp.frontend.onnx.checks.check:read_onnx")

VALUES = np.arange(4, dtype=np.float32)


def external(location: str, **entries: object) -> TensorProto:
    """A tensor whose values are in a file."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def model_of(*nodes, initializers=(), functions=()) -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    graph = helper.make_graph(nodes, "graph", [x], [y], initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, functions=functions, opset_imports=opsets, ir_version=8)


def in_initializer(w: TensorProto) -> onnx.ModelProto:
    return model_of(helper.make_node("Mul", ["x", "w"], ["y"]), initializers=[w])


def in_attribute(w: TensorProto) -> onnx.ModelProto:
    constant = helper.make_node("Constant", [], ["w"], value=w)
    return model_of(constant, helper.make_node("Mul", ["x", "w"], ["y"]))


def in_function(w: TensorProto) -> onnx.ModelProto:
    constant = helper.make_node("Constant", [], ["w"], value=w)
    nodes = [constant, helper.make_node("Mul", ["a", "w"], ["b"])]
    opsets = [helper.make_opsetid("", 17)]
    function = helper.make_function("mine", "Scale", ["a"], ["b"], nodes, opsets)
    return model_of(helper.make_node("Scale", ["x"], ["y"], domain="mine"), functions=[function])


def in_branch(w: TensorProto) -> onnx.ModelProto:
    z = helper.make_tensor_value_info("z", TensorProto.FLOAT, [4])
    branch = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["z"])], "branch", [], [z], [w])
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    return model_of(node, initializers=[numpy_helper.from_array(np.array(True), "c")])


def in_sparse_tensor(w: TensorProto) -> onnx.ModelProto:
    indices = numpy_helper.from_array(np.arange(4), "indices")
    model = model_of(helper.make_node("Mul", ["x", "w"], ["y"]))
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(w, indices, [4]))
    return model


PLACES = [in_initializer, in_attribute, in_function, in_branch, in_sparse_tensor]


@pytest.fixture
def folder(tmp_path):
    """The folder of a model, beside a file that it must not read."""
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(VALUES.tobytes())
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path)
    return folder


def message_of(model: onnx.ModelProto, folder) -> str:
    with pytest.raises(usmp.UnsupportedModelError) as error:
        read_onnx(model.SerializeToString(), folder)
    return str(error.value)


@pytest.mark.parametrize("make", PLACES)
@pytest.mark.parametrize(
    "location", ["../secret", "sub/../../secret", "/secret", "link", "up/secret"]
)
def test_no_file_outside_of_the_folder_is_read(make, location, folder):
    if location == "/secret":
        location = str(folder.parent / "secret")
    assert message_of(make(external(location)), folder) == (
        f'the values of initializer "w" are in the file "{location}", which is outside of the '
        f"model's folder, {folder}; put it there, and export the model with that place"
    )


@pytest.mark.cc
@pytest.mark.parametrize("make", [in_initializer, in_attribute, in_function])
@pytest.mark.parametrize("location", ["w.bin", "sub/w.bin", "./sub/../w.bin", "inside"])
def test_files_in_the_folder_are_read(make, location, folder):
    (folder / "sub").mkdir()
    for path in ("w.bin", "sub/w.bin"):
        (folder / path).write_bytes(b"\0" * 8 + VALUES.tobytes() + b"\0" * 8)
    (folder / "inside").symlink_to(folder / "w.bin")
    model = make(external(location, offset=8, length=16))
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    outputs = usmp.build(usmp.import_model(folder / "model.onnx")).run({"x": np.ones(4, "float32")})
    np.testing.assert_array_equal(outputs["y"], VALUES)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"offset": 20}, ", -4 bytes from byte 20; it has 16 bytes"),
        ({"offset": -4}, ", 20 bytes from byte -4; it has 16 bytes"),
        ({"length": 10**15}, f", {10**15} bytes from byte 0; it has 16 bytes"),
        ({"length": -1}, ", -1 bytes from byte 0; it has 16 bytes"),
        ({"offset": "x"}, ", which cannot be read: invalid literal for int()"),
        ({"location": "a\0b"}, ", which cannot be read: "),
        ({"location": "a" * 5000}, ", which cannot be read: "),
        ({"location": "circle"}, ", which "),
        ({"location": "."}, ", which is not in "),
        ({"location": ""}, ", which is not in "),
    ],
)
def test_values_that_are_not_in_the_file(entries, reason, folder):
    (folder / "w.bin").write_bytes(VALUES.tobytes())
    (folder / "circle").symlink_to("circle")
    message = message_of(in_initializer(external(**{"location": "w.bin", **entries})), folder)
    assert message.startswith('the values of initializer "w" are in the file ')
    assert reason in message


def test_special_files_are_not_read(folder):
    """A pipe would be waited for without end."""
    os.mkfifo(folder / "pipe")
    assert "which is not in" in message_of(in_initializer(external("pipe")), folder)
