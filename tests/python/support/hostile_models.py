"""Models of every format whose names try to become code."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from random import Random

import tvm
from rich.console import Console
from tvm import relax, tirx
from tvm.ir import GlobalVar, IRModule, PointerType, PrimType

import usmp
from support.hostile_names import check_c, check_files, check_terminal, hostile_name
from support.lazy import lazy
from support.tflite_file import one_operator_model
from usmp import AOTExecutorFactoryModule, Executor, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.objects import TensorInfo
from usmp.objects.attributes.module_attributes import (
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSORS_ATTR,
)
from usmp.report import plan_csv, print_memory_summary
from usmp.transform import UnifiedStaticMemoryPlanner

TensorProto = lazy("onnx:TensorProto")
helper = lazy("onnx.helper")

_OF_LINKER = ("_init", "_fini", "__bss", "_edat", "_end")
FORMATS = ("tflite", "onnx", "relax", "tir")


def draw_model(random: Random, form: str, folder: Path) -> AOTExecutorFactoryModule:
    """A compiled model of one of the `FORMATS`, with random options."""
    draw = {"tflite": _tflite, "onnx": _onnx, "relax": _relax, "tir": _tir}[form]
    return draw(random, folder)


def _names(random: Random, count: int) -> list[str]:
    """Names that stay different in C, in capitals too."""
    return [f"{hostile_name(random)}{'xyzw'[i]}{i}" for i in range(count)]


def _build(random: Random, mod: IRModule) -> AOTExecutorFactoryModule:
    pools = None
    if random.random() < 0.5:
        pools = WorkspaceMemoryPools([WorkspacePoolInfo(hostile_name(random), ["c", "llvm"])])
    packed = random.random() < 0.3
    options = {"tir.usmp.use_workspace_io": not packed and random.random() < 0.5}
    executor = Executor("aot", {"interface-api": "packed"} if packed else {})
    with tvm.transform.PassContext(opt_level=3, config=options):
        return usmp.build(
            mod,
            target=random.choice(["c", "c", "c", "llvm"]),
            executor=executor,
            workspace_memory_pools=pools,
            module_name=hostile_name(random),
        )


def _tflite(random: Random, folder: Path) -> AOTExecutorFactoryModule:
    x, y = _names(random, 2)
    (folder / "model.tflite").write_bytes(one_operator_model(names=(x, y)))
    return _build(random, usmp.import_model(folder / "model.tflite"))


def _onnx(random: Random, folder: Path) -> AOTExecutorFactoryModule:
    x, y, inner, node = _names(random, 4)
    nodes = [
        helper.make_node("Relu", [x], [inner], name=node),
        helper.make_node("Sigmoid", [inner], [y], name=hostile_name(random)),
    ]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in (x, y)]
    graph = helper.make_graph(nodes, hostile_name(random), values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return _build(random, usmp.import_model(folder / "model.onnx"))


def _relax(random: Random, folder: Path) -> AOTExecutorFactoryModule:
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType((1, 4), "float32")) for name in _names(random, 2))
    with builder.function("main", [x, y]):
        with builder.dataflow():
            total = builder.emit(relax.op.add(x, y), name_hint=hostile_name(random))
            result = builder.emit(relax.op.nn.softmax(total), name_hint=hostile_name(random))
            output = builder.emit_output(result)
        builder.emit_func_output(output)
    mod = builder.get()
    main = mod["main"].with_attr("output_names", [hostile_name(random)])
    mod.update_func(mod.get_global_var("main"), main)
    return _build(random, mod)


def _tir(random: Random, folder: Path) -> AOTExecutorFactoryModule:
    """A function that copies, and a main function that calls it twice, by way of a buffer."""
    copy = GlobalVar(hostile_name(random))
    x, y = _parameters(random)
    source, target = (tirx.decl_buffer((4,), "int32", hostile_name(random)) for _ in range(2))
    i = tirx.Var(hostile_name(random), "int32")
    store = tirx.BufferStore(target, source[i], [i])
    loop = tirx.For(i, 0, 4, tirx.ForKind.SERIAL, store)
    views = [tirx.DeclBuffer(source, data=x), tirx.DeclBuffer(target, data=y)]
    functions = {copy: tirx.PrimFunc([x, y], tirx.SeqStmt([*views, loop]))}
    x, y = _parameters(random)
    between = tirx.decl_buffer((4,), "int32", hostile_name(random))
    calls = [
        tirx.Evaluate(tvm.ir.Call(copy, list(passed), ret_ty=tvm.ir.TupleType([])))
        for passed in ((x, between.data), (between.data, y))
    ]
    main = tirx.PrimFunc([x, y], tirx.SeqStmt([tirx.AllocBuffer(between), *calls]))
    names = _names(random, 2)
    functions[GlobalVar(MAIN_FUNCTION_NAME)] = main.with_attrs(
        {
            INPUT_TENSORS_ATTR.name: [TensorInfo(names[0], [4], "int32")],
            OUTPUT_TENSORS_ATTR.name: [TensorInfo(names[1], [4], "int32")],
        }
    )
    mod = tirx.transform.BindTarget(tvm.target.Target("c"))(IRModule(functions))
    return AOTExecutorFactoryModule(UnifiedStaticMemoryPlanner()(mod), hostile_name(random))


def _parameters(random: Random) -> list[tirx.Var]:
    pointer = PointerType(PrimType("int32"))
    return [tirx.Var(hostile_name(random), pointer) for _ in range(2)]


def check_model(factory: AOTExecutorFactoryModule) -> None:
    """All that is written of a model is what it should be, and its C has no functions of others."""
    files = factory.files()
    check_files(files)
    for language, standard in (("c", "c99"), ("c++", "c++17")):
        check_c(factory.header, language, standard)
    module = factory.load()
    library = module._library._name
    names = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout.split()[2::3]
    assert names and all("tvmgen_" in name for name in names if name[:5] not in _OF_LINKER)
    metadata = factory.metadata["modules"][factory.module_name]
    text = io.StringIO()
    print_memory_summary(metadata, Console(file=text, width=100, highlight=False))
    check_terminal(text.getvalue())
    check_terminal(plan_csv(metadata))
