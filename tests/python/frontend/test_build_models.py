"""What `usmp.build` takes: modules and files, one or several."""

from __future__ import annotations

from pathlib import Path

import pytest
from tvm.script import ir as I
from tvm.script import relax as R

from support.onnx_models import Graph
from usmp.frontend.build_models import import_models
from usmp.relax.entries import relax_entries
from usmp.relax.symbolic_sizes import symbolic_sizes_of


@I.ir_module
class Open:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y


def written(folder: Path, name: str) -> Path:
    graph = Graph()
    x = graph.input("x", [1, "frames", 3])
    graph.node("Relu", x, outputs=["y"])
    path = folder / f"{name}.onnx"
    path.write_bytes(graph.model("y"))
    return path


def bounds(mod, entry="main"):
    [size] = symbolic_sizes_of(mod[entry])
    return size.name, size.upper_bound


def test_one_module():
    assert import_models(Open, False, {}, {}) is Open
    assert bounds(import_models(Open, False, {"n": 7}, {})) == ("n", 7)
    with pytest.raises(ValueError, match="m"):
        import_models(Open, False, {"m": 7}, {})
    with pytest.raises(ValueError, match="input_shapes are for model files"):
        import_models(Open, False, {}, {"x": [4, 3]})


@pytest.mark.parametrize("other", [5, b"a.onnx", None, [5]])
def test_other_things_are_refused(other):
    with pytest.raises(TypeError, match="takes a Relax IRModule or the path of a model file, not"):
        import_models(other, False, {}, {})


def test_several_models(tmp_path):
    path = written(tmp_path, "encoder")
    joined = import_models({"a": path, "b": Open}, False, {"frames": 9, "n": 7}, {})
    assert sorted(relax_entries(joined)) == ["a", "b"]
    assert (bounds(joined, "a"), bounds(joined, "b")) == (("frames", 9), ("n", 7))
    listed = import_models([path, written(tmp_path, "decoder")], True, {"frames": 9}, {})
    assert sorted(relax_entries(listed)) == ["decoder", "encoder"]
    shaped = import_models({"a": path, "b": Open}, False, {"n": 7}, {"x": [1, 4, 3]})
    assert [int(extent) for extent in shaped["a"].params[0].ty.shape] == [1, 4, 3]
    with pytest.raises(ValueError, match="m"):
        import_models({"a": path, "b": Open}, False, {"frames": 9, "n": 7, "m": 1}, {})


def test_states_of_one_name_are_one_on_request(monkeypatch):
    from usmp.frontend import build_models

    asked = []
    monkeypatch.setattr(build_models, "join_models", lambda models, shared: asked.append(shared))
    for shared in (True, False):
        import_models({"a": Open}, shared, {"n": 7}, {})
    assert asked == [True, False]


def test_a_file(tmp_path):
    path = written(tmp_path, "encoder")
    assert bounds(import_models(str(path), False, {"frames": 9}, {})) == ("frames", 9)
    with pytest.raises(ValueError, match="m"):
        import_models(path, False, {"frames": 9, "m": 1}, {})
