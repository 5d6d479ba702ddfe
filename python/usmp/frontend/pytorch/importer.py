"""The importer of PyTorch programs from `torch.export.save`: one, or several of one module."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import IRModule

from usmp.frontend.dynamic_sizes import AskedSizes
from usmp.frontend.pytorch.converters import described
from usmp.frontend.pytorch.program_sizes import program_sizes
from usmp.frontend.pytorch.read_program import Program, quiet, read_program
from usmp.frontend.pytorch.states import (
    KeptTensor,
    changed_tensors,
    check_equal,
    kept_tensors,
    state_names,
    updated_inputs,
)
from usmp.frontend.pytorch.translator import Translator
from usmp.objects.attributes.module_attributes import ENTRIES_ATTR, OUTPUT_NAMES_ATTR, STATES_ATTR
from usmp.objects.state_info import StateInfo, updated_input
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.relax.limits import DEFAULT_LIMITS, LimitedBuilder, LimitError, Limits
from usmp.relax.static_shapes import flatten_types
from usmp.relax.symbolic_sizes import with_bounds
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.one_line import one_line
from usmp.tir.spans import with_function_span


def import_pytorch(
    content: bytes,
    trust: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    asked: AskedSizes | None = None,
) -> IRModule:
    """Import a `.pt2` file.

    The function's attribute `output_names` names its outputs, `states` the buffers and inputs that
    it changes. With `trust`, any code in the file may run; without, see `checked_archive`.

    Parameters
    ----------
    asked
        the largest values of the sizes that the program leaves open.

    Raises
    ------
    UnsupportedModelError
        the content is damaged or no exported program, or has something that may run code and is not
        trusted, an input has a dynamic extent without bounds besides the batch, an operator cannot
        be imported, or the model exceeds `limits`.
    ValueError
        `asked` names a size that the program does not have, or contradicts its range.
    """
    programs = {ONLY_ENTRY: read_program(content, trust, limits)}
    return _imported(programs, limits, asked or AskedSizes())


def import_pytorch_methods(
    contents: Mapping[str, bytes],
    trust: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    asked: AskedSizes | None = None,
) -> IRModule:
    """Import `.pt2` files that are methods of one PyTorch module, each exported by itself.

    A buffer that any method changes is a state of all that use it, by its fully qualified name;
    other buffers are constants.

    Parameters
    ----------
    contents
        the bytes of the files, by the names of the methods.
    asked
        the largest values of the sizes that the methods leave open.

    Returns
    -------
    IRModule
        A Relax function for each method, which the attribute `entries` lists in this order.

    Raises
    ------
    UnsupportedModelError
        there is no method; or as for `import_pytorch`; or a state differs between two methods in
        shape, type or initial value. The message names the methods.
    """
    if not contents:
        raise UnsupportedModelError("there are no methods; give at least one exported program")
    programs = {}
    for method, content in contents.items():
        with _errors_of(method):
            programs[method] = read_program(content, trust, limits)
    asked = asked or AskedSizes(is_for_one_model=False)
    return ENTRIES_ATTR.put(_imported(programs, limits, asked), list(programs))


class _Builder(LimitedBuilder):
    """A block builder that gives no operator the name of a method."""

    def __init__(self, limits: Limits, methods: Collection[str]) -> None:
        super().__init__(limits)
        self._methods = methods

    def add_func(self, func: Any, func_name: str) -> Any:
        """Add a method, or an operator."""
        is_operator = isinstance(func, tirx.PrimFunc)
        is_taken = is_operator and func_name in self._methods
        return super().add_func(func, f"{func_name}_operator" if is_taken else func_name)


def _imported(programs: Mapping[str, Program], limits: Limits, asked: AskedSizes) -> IRModule:
    """Return a module with a Relax function for each program."""
    exported = {method: program.exported for method, program in programs.items()}
    changed = {target: None for ep in exported.values() for target in changed_tensors(ep)}
    kept = {method: kept_tensors(ep, changed) for method, ep in exported.items()}
    updated = {method: updated_inputs(ep) for method, ep in exported.items()}
    check_equal(kept)
    for method, ep in exported.items():
        with _errors_of(method, len(programs) > 1):
            _check_is_computed(ep, kept[method])
    names = state_names(exported.values(), changed)
    builder = _Builder(limits, list(programs))
    constants = {}
    sizes, spans = {}, {}
    for method, program in programs.items():
        with _errors_of(method, len(programs) > 1):
            sizes[method] = program_sizes(program.exported, asked)
            translator = Translator(builder, program.exported, kept[method], names, sizes[method])
            constants[method] = _translated(translator, method)
            spans[method] = translator.span
    mod = builder.get()
    if changed or any(updated.values()):
        # Remove views of states that nothing reads, because their readers read the state in place.
        mod = relax.transform.DeadCodeElimination(list(programs))(mod)
    for method, program in programs.items():
        mod = relax.transform.BindParams(method, constants[method])(mod)
        variable = mod.get_global_var(method)
        states = _state_infos(kept[method], names, len(program.output_names))
        states += _updated_infos(mod[variable], updated[method])
        attributes = OUTPUT_NAMES_ATTR.entry(program.output_names)
        if states:
            attributes |= STATES_ATTR.entry(states)
        function = with_function_span(mod[method], spans[method]).with_attrs(attributes)
        mod.update_func(variable, with_bounds(function, sizes[method].bounded))
    return mod


def _check_is_computed(program: Any, kept: Sequence[KeptTensor]) -> None:
    """Check that the program has inputs and outputs, or kept tensors in their place.

    Raises
    ------
    UnsupportedModelError
        the program has no inputs, or no outputs, and keeps nothing in their place.
    """
    signature = program.graph_signature
    if not signature.user_inputs and not kept:
        hint = (
            "; if another method changes its buffers, import both as methods of one program"
            if signature.buffers
            else ""
        )
        raise UnsupportedModelError(f"the model has no inputs{hint}")
    returned = [name for name in signature.user_outputs if name is not None]
    changes = any(tensor.after is not None for tensor in kept) or updated_inputs(program)
    if not returned and not changes:
        raise UnsupportedModelError("the model has no outputs")


def _translated(translator: Translator, method: str) -> dict[relax.Var, tvm.runtime.Tensor]:
    """Append the function of a program, and return the values to bind to its parameters."""
    with quiet():
        try:
            return translator.append_function(method)
        except Exception as error:
            node = translator.node
            if isinstance(error, LimitError) and node is not None:
                raise UnsupportedModelError(f"{described(node)}: {error}") from error
            if isinstance(error, UnsupportedModelError):
                raise
            # PyTorch and TVM raise many kinds of exceptions: each means that the import failed.
            label = "the program" if node is None else described(node)
            raise UnsupportedModelError(f"{label} cannot be imported: {one_line(error)}") from error


def _state_infos(
    kept: Sequence[KeptTensor], names: Mapping[str, str], outputs: int
) -> list[StateInfo]:
    """Return the states between runs; the results that replace them follow the outputs."""
    changed = [tensor for tensor in kept if tensor.after is not None]
    return [
        StateInfo(
            names[tensor.target],
            outputs + changed.index(tensor) if tensor in changed else -1,
            tvm.runtime.tensor(tensor.value.detach().contiguous().numpy()),
        )
        for tensor in kept
    ]


def _updated_infos(func: relax.Function, updated: Mapping[str, str]) -> list[StateInfo]:
    """Return the inputs that a method updates; their results are the last ones, in this order."""
    first = len(flatten_types(func.body.body.ty)) - len(updated)
    types = {str(param.name): param.ty for param in func.params}
    return [
        updated_input(name, first + index, str(types[name].dtype))
        for index, name in enumerate(updated)
    ]


@contextmanager
def _errors_of(method: str, is_one_of_several: bool = True) -> Iterator[None]:
    """Add the method's name to the errors that are raised inside."""
    try:
        yield
    except UnsupportedModelError as error:
        if not is_one_of_several:
            raise
        raise UnsupportedModelError(f'method "{method}": {error}') from error
