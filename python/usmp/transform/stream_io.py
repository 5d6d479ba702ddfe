"""StreamIO: let inputs and outputs pass row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, PrimType, TupleType
from tvm.ir.transform import PassContext

from usmp.analysis.memory.facts import FunctionFacts, module_facts
from usmp.analysis.memory.main_statements import MainStatements, main_statements
from usmp.objects.arguments.executor import executor_of
from usmp.objects.attributes.annotations import (
    LIVE_THROUGHOUT_ATTR,
    STATE_TENSOR_ATTR,
    STREAMED_TENSOR_ATTR,
)
from usmp.objects.attributes.module_attributes import (
    ENTRIES_ATTR,
    EXECUTOR_ATTR,
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    MEMORY_PLAN_ATTR,
    OUTPUT_TENSORS_ATTR,
    STREAMED_INPUTS_ATTR,
    STREAMED_OUTPUTS_ATTR,
    SYMBOLIC_SIZES_ATTR,
)
from usmp.objects.attributes.operator_attributes import (
    EXTERN_KERNELS_ATTR,
    OPERATOR_SHAPES_ATTR,
    OPERATOR_STEPS_ATTR,
    OPERATORS_ATTR,
)
from usmp.objects.entries import entries_of
from usmp.objects.operator_step import OperatorStep
from usmp.objects.symbolic_size import has_symbolic_sizes
from usmp.objects.tensor_info import TensorInfo
from usmp.passes import ModulePass
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.planning.check_unplanned import check_unplanned
from usmp.planning.options import planning_options
from usmp.support.text.known_names import unknown_name
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.dtypes import item_bytes
from usmp.tir.nodes import nodes_of, sequence
from usmp.tir.tensor_intrin import tensor_intrin


@tvm.transform.module_pass(opt_level=0, name="usmp.StreamIO")
class StreamIO(ModulePass):
    """Let the application write inputs and read outputs row by row.

    The options `tir.usmp.stream_inputs` and `tir.usmp.stream_outputs` name the tensors. Rows are
    along the outermost axis that is longer than 1. Such a tensor becomes an AllocBuffer like those
    between operators, so that `StreamOperators` can make a ring of it. A new operator is added:
    `read_<input>` before the first operator that reads the tensor, or `write_<output>` after the
    last one that writes it. The operator calls the application for each row, in order, through a
    handle, which replaces the parameter of `__tvm_main__` that pointed to the tensor.

    The call is a tensor intrinsic (`tvmgen_read_row`, `tvmgen_write_row`), so that analyses see its
    reads and writes. Other operators do not depend on its side effects in the application. Each
    call runs once, and the calls for one tensor stay in order, because interleaving keeps the order
    of each operator's iterations.

    The attributes `streamed_inputs` and `streamed_outputs` of `__tvm_main__` have the names. Run
    the pass after `OrderOperators`, so that the new operators stay beside the operators that use
    the tensor.

    Raises
    ------
    ValueError
        the module has a plan already or no `__tvm_main__`, the planner refuses the options, a
        tensor is missing, has one row or is updated in place, nothing reads an input or writes an
        output, the interface is packed, the target is not c, there are several entries or symbolic
        sizes, or accesses are unknown.
    """

    reads = (
        *(EXECUTOR_ATTR, ENTRIES_ATTR, INPUT_TENSORS_ATTR, OUTPUT_TENSORS_ATTR),
        *(SYMBOLIC_SIZES_ATTR, MEMORY_PLAN_ATTR, LIVE_THROUGHOUT_ATTR, STATE_TENSOR_ATTR),
        EXTERN_KERNELS_ATTR,
    )
    writes = (
        *(STREAMED_INPUTS_ATTR, STREAMED_OUTPUTS_ATTR, STREAMED_TENSOR_ATTR, OPERATORS_ATTR),
        *(OPERATOR_STEPS_ATTR, OPERATOR_SHAPES_ATTR),
    )

    def transform_module(self, mod: IRModule, context: PassContext) -> IRModule:
        """Add the operators, or return the module itself."""
        options = planning_options(context)
        if not options.streams_io:
            return mod
        _check_interface(mod)
        check_unplanned(mod)
        names = options.row_inputs, options.stream_outputs
        return _streamed(mod, *names)


@dataclass(frozen=True, eq=False)
class _Tensor:
    """An input or output that is streamed row by row.

    Parameters
    ----------
    info
        name, shape and element type.
    index
        index of its parameter.
    is_input
        whether it is an input.
    """

    info: TensorInfo
    index: int
    is_input: bool

    @property
    def text(self) -> str:
        """The name of the tensor in errors."""
        return f'{"input" if self.is_input else "output"} "{self.info.name}"'


def _check_interface(mod: IRModule) -> None:
    """Refuse interfaces and targets that have no callbacks."""
    if has_symbolic_sizes(mod):
        raise ValueError(
            "inputs and outputs by rows have fixed shapes, and the model has sizes that only the "
            "run knows: fix them, or leave out tir.usmp.stream_inputs and tir.usmp.stream_outputs"
        )
    if executor_of(mod).is_packed:
        raise ValueError(
            "inputs and outputs by rows need the C interface, whose structs have callbacks: leave "
            "out interface-api=packed, or tir.usmp.stream_inputs and tir.usmp.stream_outputs"
        )
    if entries_of(mod) != [ONLY_ENTRY]:
        raise ValueError(
            "inputs and outputs are streamed before entries are joined, but this module has "
            f"{', '.join(entries_of(mod))}; let usmp.build compile it, or leave out "
            "tir.usmp.stream_inputs and tir.usmp.stream_outputs"
        )
    target = (mod[MAIN_FUNCTION_NAME].attrs or {}).get("target")
    if target is not None and target.kind.name != "c":
        raise ValueError(
            f"inputs and outputs by rows need target c, not {target.kind.name}: compile for c, or "
            "leave out tir.usmp.stream_inputs and tir.usmp.stream_outputs"
        )


def _streamed(mod: IRModule, inputs: Sequence[str], outputs: Sequence[str]) -> IRModule:
    main = mod[MAIN_FUNCTION_NAME]
    all_inputs, all_outputs = INPUT_TENSORS_ATTR.of(main) or (), OUTPUT_TENSORS_ATTR.of(main) or ()
    tensors = [
        *_named(all_inputs, inputs, 0, is_input=True),
        *_named(all_outputs, outputs, len(all_inputs), is_input=False),
    ]
    facts = module_facts(mod)
    statements = main_statements(facts)
    if statements is None:
        raise ValueError(
            f"inputs and outputs by rows: it is not known what the statements of "
            f"{MAIN_FUNCTION_NAME} do, as where functions of accelerators may fail; leave out "
            "tir.usmp.stream_inputs and tir.usmp.stream_outputs, or the accelerator"
        )
    names = UniqueNames(str(variable.name_hint) for variable in mod.functions)
    functions = dict(mod.functions.items())
    rewriter = _MainRewriter(main)
    for tensor in tensors:
        _check_use(tensor, facts.of(MAIN_FUNCTION_NAME))
        verb = "read" if tensor.is_input else "write"
        variable = GlobalVar(names.unique(f"{verb}_{_identifier(str(tensor.info.name))}"))
        functions[variable] = _with_attributes(_rows(tensor), tensor, verb, main)
        rewriter.add(tensor, variable, _beside(tensor, main.params[tensor.index], statements))
    functions[mod.get_global_var(MAIN_FUNCTION_NAME)] = rewriter.rewritten().with_attrs(
        STREAMED_INPUTS_ATTR.entry(inputs) | STREAMED_OUTPUTS_ATTR.entry(outputs)
    )
    return IRModule(functions, attrs=mod.attrs)


def _beside(tensor: _Tensor, param: tirx.Var, statements: MainStatements) -> tirx.Stmt:
    """Return the first statement that reads an input, or the last one that writes an output."""
    users = [
        statement.stmt
        for statement in statements.statements
        for access in statement.accesses
        if access.memory.same_as(param) and (tensor.is_input or access.may_write)
    ]
    return users[0 if tensor.is_input else -1]


def _named(
    infos: Sequence[TensorInfo], names: Sequence[str], first: int, is_input: bool
) -> list[_Tensor]:
    """Return the tensors with some names."""
    known = {str(info.name): index for index, info in enumerate(infos)}
    role = "input" if is_input else "output"
    for name in names:
        if name not in known:
            problem = f'tir.usmp.stream_{role}s: the model has no {role} "{name}"'
            raise ValueError(unknown_name(problem, name, known, f"Its {role}s"))
    return [_Tensor(infos[known[name]], first + known[name], is_input) for name in names]


def _check_use(tensor: _Tensor, main: FunctionFacts) -> None:
    """Refuse a tensor that is updated in place or has one row, or that no operator accesses."""
    info = tensor.info
    if info.is_updated:
        raise ValueError(
            f"{tensor.text} is updated in place by the run, so it has to be there as a whole; "
            "leave it out of tir.usmp.stream_inputs"
        )
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
    """Return the operator that calls the application for each row."""
    info, dtype = tensor.info, str(tensor.info.dtype)
    name = "destination" if tensor.is_input else "source"
    row_elements = info.row_size_bytes // item_bytes(dtype)
    pointer = tirx.Var(f"{name}_ptr", PointerType(PrimType(dtype)))
    rows = tirx.Var("rows", PointerType(PrimType("void")))
    buffer = tirx.decl_buffer((row_elements * info.rows,), dtype, name)
    row, i = tirx.Var("row", "int32"), tirx.Var("i", "int32")
    first = row * row_elements
    if tensor.is_input:
        # The value does not matter; analyses must see the write.
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
    func: tirx.PrimFunc, tensor: _Tensor, verb: str, main: tirx.PrimFunc
) -> tirx.PrimFunc:
    """Return an operator with the attributes that reports and targets read."""
    target = (main.attrs or {}).get("target")
    shapes = {str(func.params[0].name): [int(extent) for extent in tensor.info.shape]}
    step = OperatorStep(f"{verb}_{'input' if tensor.is_input else 'output'}", 0)
    known = {
        **OPERATORS_ATTR.entry([]),
        **OPERATOR_SHAPES_ATTR.entry(shapes),
        **OPERATOR_STEPS_ATTR.entry([step]),
    }
    return func.with_attrs(known | ({} if target is None else {"target": target}))


class _MainRewriter:
    """A rewriter of the main function that adds allocations and operators for streamed tensors."""

    def __init__(self, main: tirx.PrimFunc) -> None:
        self.main = main
        self.allocations: list[tirx.Stmt] = []
        self.calls: list[tuple[tirx.Stmt, bool, tirx.Stmt]] = []
        """The statement beside a call, whether the call is before it, and the call."""
        self.handles: dict[tirx.Var, tirx.Var] = {}
        self.buffers: dict[tirx.Var, tirx.Var] = {}

    def add(self, tensor: _Tensor, operator: GlobalVar, beside: tirx.Stmt) -> None:
        """Add the operator of a tensor before the first statement that reads it, or after the last
        one that writes it."""
        param = self.main.params[tensor.index]
        buffer = self.buffers[param] = _tensor_at(self.main, param, tensor)
        handle = tirx.Var(f"{buffer.name}_rows", PointerType(PrimType("void")))
        self.handles[param] = handle
        self.allocations.append(tirx.AllocBuffer(buffer, STREAMED_TENSOR_ATTR.entry(tensor.text)))
        call = Call(operator, [buffer.data, handle], ret_ty=TupleType([]))
        self.calls.append((beside, tensor.is_input, tirx.Evaluate(call)))

    def rewritten(self) -> tirx.PrimFunc:
        """Return the rewritten main function."""
        body: list[tirx.Stmt] = []
        for stmt in tirx.stmt_list(self.main.body):
            if isinstance(stmt, tirx.DeclBuffer) and stmt.buffer in self.buffers.values():
                continue
            calls = [
                (is_before, call) for beside, is_before, call in self.calls if beside.same_as(stmt)
            ]
            body += [call for is_before, call in calls if is_before]
            body.append(stmt)
            body += [call for is_before, call in calls if not is_before]
        pointers = {
            param: buffer.data
            for param, buffer in self.buffers.items()
            if not tirx.is_buffer_var(param)
        }
        moved = tvm_ffi.structural_map(
            sequence(body), (tirx.Var, lambda var: pointers.get(var, var))
        )
        params = [self.handles.get(param, param) for param in self.main.params]
        whole = sequence([*self.allocations, *tirx.stmt_list(moved)])
        main = self.main
        return tirx.PrimFunc(params, whole, main.ret_type, main.attrs, main.span)


def _tensor_at(main: tirx.PrimFunc, param: tirx.Var, tensor: _Tensor) -> tirx.Var:
    """Return the buffer of all elements that is declared at a parameter, or a new one."""
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


def _identifier(name: str) -> str:
    """Return a name in which each character that C names may not have is replaced."""
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)[:64]
