"""CallOperatorHooks: let the application run code before and after each operator."""

from __future__ import annotations

import tvm
from tvm import tirx
from tvm.ir import IRModule

from usmp.analysis.memory.facts import module_facts
from usmp.analysis.operator_statements import operator_statements
from usmp.objects.attributes.module_attributes import ENTRIES_ATTR, OPERATOR_HOOKS_ATTR
from usmp.objects.attributes.operator_attributes import EXTERN_KERNELS_ATTR
from usmp.objects.entries import entries_of, entry_function_name
from usmp.passes import ModulePass
from usmp.tir.nodes import sequence


@tvm.transform.module_pass(opt_level=0, name="usmp.CallOperatorHooks")
class CallOperatorHooks(ModulePass):
    """Call one function of the application before each operator, and another one after it.

    They are `<prefix>_operator_begin` and `<prefix>_operator_end`. Their argument is the index of
    the operator, in the order in which entries run operators, one entry after the other. Code
    generators define both as weak functions that do nothing, if the compiler supports it. The
    attribute `operator_hooks` of the module has their names.

    Parameters
    ----------
    symbol_prefix
        prefix of the names of the C functions.

    Raises
    ------
    ValueError
        a PrimFunc has the name of a hook.
    """

    reads = (ENTRIES_ATTR, EXTERN_KERNELS_ATTR)
    writes = (OPERATOR_HOOKS_ATTR,)

    def __init__(self, symbol_prefix: str = "tvmgen_default") -> None:
        self.hooks = [f"{symbol_prefix}_operator_{when}" for when in ("begin", "end")]

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Insert the calls into the PrimFunc of each entry."""
        facts = module_facts(mod)
        for hook in self.hooks:
            if any(str(variable.name_hint) == hook for variable in mod.functions):
                raise ValueError(f"{hook} is a function of the application; rename the operator")
        calling = IRModule(mod.functions, attrs=mod.attrs)
        first = 0
        for entry in entries_of(mod):
            name = entry_function_name(entry)
            main = mod[name]
            operators = list(operator_statements(main, facts.of(name).calls))
            body: list[tirx.Stmt] = []
            for index, statement in enumerate(tirx.stmt_list(main.body)):
                if index in operators:
                    number = first + operators.index(index)
                    begin, end = (_call(hook, number) for hook in self.hooks)
                    body += [begin, statement, end]
                else:
                    body.append(statement)
            first += len(operators)
            calling.update_func(mod.get_global_var(name), main.with_body(sequence(body)))
        return OPERATOR_HOOKS_ATTR.put(calling, self.hooks)


def _call(hook: str, number: int) -> tirx.Stmt:
    return tirx.Evaluate(tirx.call_extern("void", hook, tirx.IntImm("int32", number)))
