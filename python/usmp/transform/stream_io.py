"""StreamIO: inputs come, and outputs go, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, PrimType, TupleType
from tvm.ir.transform import PassContext

from usmp.analysis.memory.access import item_bytes
from usmp.analysis.memory.facts import FunctionFacts, module_facts
from usmp.analysis.memory.main_statements import DECLARATIONS
from usmp.objects.attributes import (
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OPERATOR_SHAPES_ATTR,
    OPERATOR_STEPS_ATTR,
    OPERATORS_ATTR,
    OUTPUT_TENSORS_ATTR,
    STREAMED_INPUTS_ATTR,
    STREAMED_OUTPUTS_ATTR,
    STREAMED_TENSOR_ATTR,
)
from usmp.objects.entries import ONLY_ENTRY, entries_of
from usmp.objects.executor import executor_of
from usmp.objects.tensor_info import TensorInfo
from usmp.passes import ModulePass
from usmp.planning.check_unplanned import check_unplanned
from usmp.planning.options import planning_options
from usmp.support.unique_names import UniqueNames
from usmp.tir.nodes import mentions, nodes_of, sequence
from usmp.tir.tensor_intrin import tensor_intrin


@tvm.transform.module_pass(opt_level=0, name="usmp.StreamIO")
class StreamIO(ModulePass):
    """Let the application give inputs, and take outputs, row by row.

    Which they are is stated by `tir.usmp.stream_inputs` and `tir.usmp.stream_outputs`. The rows of
    a tensor are along its outermost axis that is longer than 1. Such a tensor becomes an
    AllocBuffer like those between operators, so that `StreamOperators` can make a ring of it. An
    operator of its own, `read_<input>` before the first one that reads the tensor or
    `write_<output>` after the last one that writes it, calls the application for each row, in their
    order, through a handle: the parameter of `__tvm_main__` that led to the tensor.

    The call is a tensor intrinsic (`tvmgen_read_row`, `tvmgen_write_row`), so that analyses see
    which bytes it writes or reads. What the application does in it, other operators do not depend
    on; each call is made once, and those for one tensor stay in order, since each loop of operators
    does.

    The attributes `streamed_inputs` and `streamed_outputs` of `__tvm_main__` have the names. To
    come after `OrderOperators`: between the operator that gives rows and the one that takes them
    is no other one.

    Raises
    ------
    ValueError
        a module that is planned already or has no `__tvm_main__`, options that the planner refuses,
        a tensor that is not there or has one row, an input that nothing reads, the packed
        interface, target llvm, or several entries.
    """

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Add the operators, or return the module itself."""
        options = planning_options(context.config)
        if not options.streams_io:
            return mod
        _check_interface(mod)
        check_unplanned(mod)
        names = options.stream_inputs, options.stream_outputs
        return _streamed(mod, *names)


@dataclass(frozen=True, eq=False)
class _Tensor:
    """An input or output that is given or taken row by row.

    Parameters
    ----------
    info
        its name, shape and element type.
    index
        of its parameter.
    is_input
        whether it is an input.
    """

    info: TensorInfo
    index: int
    is_input: bool

    @property
    def text(self) -> str:
        """What it is called in errors."""
        return f'{"input" if self.is_input else "output"} "{self.info.name}"'


def _check_interface(mod: IRModule) -> None:
    """Refuse what has no callbacks."""
    if executor_of(mod).is_packed:
        raise ValueError(
            "inputs and outputs by rows need the C interface, whose structs have callbacks: leave "
            "out interface-api=packed, or tir.usmp.stream_inputs and tir.usmp.stream_outputs"
        )
    if entries_of(mod) != [ONLY_ENTRY]:
        raise ValueError(
            "inputs and outputs by rows are for models with one entry, but this one has "
            f"{', '.join(entries_of(mod))}; compile it alone, or leave out tir.usmp.stream_inputs "
            "and tir.usmp.stream_outputs"
        )
    target = (mod[MAIN_FUNCTION_NAME].attrs or {}).get("target")
    if target is not None and target.kind.name != "c":
        raise ValueError(
            f"inputs and outputs by rows need target c, not {target.kind.name}: compile for c, or "
            "leave out tir.usmp.stream_inputs and tir.usmp.stream_outputs"
        )


def _streamed(mod: IRModule, inputs: Sequence[str], outputs: Sequence[str]) -> IRModule:
    main = mod[MAIN_FUNCTION_NAME]
    attrs = main.attrs or {}
    given, taken = list(attrs.get(INPUT_TENSORS_ATTR, ())), list(attrs.get(OUTPUT_TENSORS_ATTR, ()))
    tensors = [
        *_named(given, inputs, 0, is_input=True),
        *_named(taken, outputs, len(given), is_input=False),
    ]
    facts = module_facts(mod).of(MAIN_FUNCTION_NAME)
    names = UniqueNames(str(variable.name_hint) for variable in mod.functions)
    functions = dict(mod.functions.items())
    for number, tensor in enumerate(tensors):
        _check_use(tensor, facts)
        what = "read" if tensor.is_input else "write"
        variable = GlobalVar(names.unique(f"{what}_{_identifier(str(tensor.info.name))}"))
        functions[variable] = _with_attributes(_rows(tensor), tensor, what, main)
        main = _with_operator(main, tensor, variable, number)
    main = main.with_attrs(
        {STREAMED_INPUTS_ATTR: list(inputs), STREAMED_OUTPUTS_ATTR: list(outputs)}
    )
    functions[mod.get_global_var(MAIN_FUNCTION_NAME)] = main
    return IRModule(functions, attrs=mod.attrs)


def _named(
    infos: Sequence[TensorInfo], names: Sequence[str], first: int, is_input: bool
) -> list[_Tensor]:
    """The tensors with these names."""
    known = {str(info.name): index for index, info in enumerate(infos)}
    what = "input" if is_input else "output"
    for name in names:
        if name not in known:
            raise ValueError(
                f'tir.usmp.stream_{what}s: the model has no {what} "{name}"; '
                f"it has {', '.join(known) or 'none'}"
            )
    return [_Tensor(infos[known[name]], first + known[name], is_input) for name in names]


def _check_use(tensor: _Tensor, main: FunctionFacts) -> None:
    """Refuse what has no rows, or what would never be called."""
    info = tensor.info
    if info.rows == 1 or info.size_bytes == 0:
        raise ValueError(
            f"{tensor.text} has one row only, {info.dtype}{[int(e) for e in info.shape]}; rows are "
            "along the outermost axis that is longer than 1; leave it out of "
            f"tir.usmp.stream_{'inputs' if tensor.is_input else 'outputs'}"
        )
    access = main.liveness.parameter_use[tensor.index].access
    if not access:
        raise ValueError(
            f"nothing {'reads' if tensor.is_input else 'writes'} {tensor.text}, so no row of it "
            f"would be asked for; leave it out of tir.usmp.stream_"
            f"{'inputs' if tensor.is_input else 'outputs'}"
        )


def _rows(tensor: _Tensor) -> tirx.PrimFunc:
    """The operator that calls the application for each row."""
    info, dtype = tensor.info, str(tensor.info.dtype)
    name = "destination" if tensor.is_input else "source"
    row_elements = info.row_size_bytes // item_bytes(dtype)
    pointer = tirx.Var(f"{name}_ptr", PointerType(PrimType(dtype)))
    rows = tirx.Var("rows", PointerType(PrimType("void")))
    buffer = tirx.decl_buffer((row_elements * info.rows,), dtype, name)
    row, i = tirx.Var("row", "int32"), tirx.Var("i", "int32")
    first = row * row_elements
    if tensor.is_input:
        # What it is, nobody knows; that it is written is what matters.
        access: tirx.Stmt = tirx.BufferStore(buffer, tirx.const(0, dtype), [first + i])
        symbol, arguments = "tvmgen_read_row", [rows, row, buffer[first], info.row_size_bytes]
    else:
        access = tirx.Evaluate(buffer[first + i])
        symbol, arguments = "tvmgen_write_row", [rows, row, buffer[first]]
    elements = tirx.For(i, 0, row_elements, tirx.ForKind.SERIAL, access)
    call = tensor_intrin(symbol, arguments, elements)
    loop = tirx.For(row, 0, info.rows, tirx.ForKind.SERIAL, call)
    declared = tirx.DeclBuffer(buffer, data=pointer)
    return tirx.PrimFunc([pointer, rows], tirx.SeqStmt([declared, loop]))


def _with_attributes(
    func: tirx.PrimFunc, tensor: _Tensor, what: str, main: tirx.PrimFunc
) -> tirx.PrimFunc:
    """What reports and targets ask operators for."""
    target = (main.attrs or {}).get("target")
    shapes = {str(func.params[0].name): [int(extent) for extent in tensor.info.shape]}
    step = {"kind": f"{what}_{'input' if tensor.is_input else 'output'}", "macs": 0}
    known = {OPERATORS_ATTR: [], OPERATOR_SHAPES_ATTR: shapes, OPERATOR_STEPS_ATTR: [step]}
    return func.with_attrs(known | ({} if target is None else {"target": target}))


def _with_operator(
    main: tirx.PrimFunc, tensor: _Tensor, operator: GlobalVar, allocated: int
) -> tirx.PrimFunc:
    """The main function with a tensor of its own for the input or output, and the operator.

    Parameters
    ----------
    allocated
        statements at the beginning that allocate other ones.
    """
    param = main.params[tensor.index]
    buffer = _tensor_at(main, param, tensor)
    handle = tirx.Var(f"{buffer.name}_rows", PointerType(PrimType("void")))
    allocation = tirx.AllocBuffer(buffer, {STREAMED_TENSOR_ATTR: tensor.text})
    call = tirx.Evaluate(Call(operator, [buffer.data, handle], ret_ty=TupleType([])))
    declarations: list[tirx.Stmt] = []
    statements: list[tirx.Stmt] = []
    for stmt in tirx.stmt_list(main.body):
        if isinstance(stmt, tirx.DeclBuffer) and stmt.buffer.same_as(buffer):
            continue
        (declarations if isinstance(stmt, DECLARATIONS) else statements).append(stmt)
    pointers = {param, buffer, *_views(declarations, {param, buffer})}
    users = [i for i, stmt in enumerate(statements) if any(mentions(stmt, p) for p in pointers)]
    statements.insert(users[0] if tensor.is_input else users[-1] + 1, call)
    body = tvm_ffi.structural_map(
        sequence([*declarations, *statements]),
        (tirx.Var, lambda var: buffer.data if var.same_as(param) else var),
    )
    params = [handle if other.same_as(param) else other for other in main.params]
    changed = list(tirx.stmt_list(body))
    changed.insert(allocated, allocation)
    return tirx.PrimFunc(params, sequence(changed), main.ret_type, main.attrs)


def _tensor_at(main: tirx.PrimFunc, param: tirx.Var, tensor: _Tensor) -> tirx.Var:
    """The buffer of all elements that is declared at a parameter, or a new one."""
    if tirx.is_buffer_var(param):
        return param
    info = tensor.info
    elements = info.size_bytes // item_bytes(str(info.dtype))
    for stmt in nodes_of(main.body, tirx.DeclBuffer):
        shape = [int(extent) for extent in stmt.buffer.shape]
        is_whole = shape == [elements] and str(stmt.buffer.dtype) == str(info.dtype)
        if isinstance(stmt.data, tirx.Var) and stmt.data.same_as(param) and is_whole:
            return stmt.buffer
    return tirx.decl_buffer((elements,), str(info.dtype), str(info.name))


def _views(declarations: Sequence[tirx.Stmt], roots: set[tirx.Var]) -> set[tirx.Var]:
    """The variables that are declared at others, of any depth."""
    found = set(roots)
    for stmt in declarations:
        if isinstance(stmt, tirx.DeclBuffer) and any(mentions(stmt.data, var) for var in found):
            found.add(stmt.buffer)
        elif isinstance(stmt, tirx.Bind) and any(mentions(stmt.value, var) for var in found):
            found.add(stmt.var)
    return found


def _identifier(name: str) -> str:
    """A part of the name of a PrimFunc."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)[:64]
