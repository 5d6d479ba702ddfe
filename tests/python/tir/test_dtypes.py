from tvm.ir import PrimType, load_json, save_json
from tvm.tirx import Cast, IntImm, Var

from usmp.tir import dtypes
from usmp.tir.dtypes import dtype_of


def test_names_are_those_of_tvm():
    x = Var("x", "int32")
    expressions = [x, x + 1, x < 1, IntImm("int8", 1), Cast("float32", x)]
    names = ["int32", "int32", "bool", "int8", "float32"]
    for _ in range(2):
        assert [dtype_of(expr) for expr in expressions] == names


def test_types_of_files_are_kept_for_a_while(monkeypatch):
    monkeypatch.setattr(dtypes, "_NAMES", {})
    monkeypatch.setattr(dtypes, "_MOST", 2)
    text = save_json(Var("x", "uint16"))
    for _ in range(5):
        loaded = load_json(text)
        assert not loaded.ty.same_as(PrimType("uint16"))
        assert dtype_of(loaded) == "uint16"
        assert len(dtypes._NAMES) <= 2
