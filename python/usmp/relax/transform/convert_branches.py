"""ConvertBranches: each `If` of Relax becomes an operator that runs one of two bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import tvm
from tvm import relax
from tvm.ir import GenericConst, GlobalVar, IRModule, TupleType, Var
from tvm.relax.expr_functor import PyExprMutator, mutator

from usmp.objects.attributes.module_attributes import CONCURRENT_ATTR, ENTRIES_ATTR
from usmp.ops.control_flow import CONTROL_FLOW_ATTR, ControlFlow, call_control_flow
from usmp.passes import ModulePass
from usmp.plain.entry_names import ONLY_ENTRY
from usmp.relax.entries import relax_entries
from usmp.relax.static_shapes import flatten_types, has_static_shape, main_function
from usmp.relax.symbolic_sizes import shown_type
from usmp.relax.transform.resolve_match_casts import ResolveMatchCasts
from usmp.support.errors import UnsupportedModelError
from usmp.support.reachable import reachable
from usmp.tir.global_symbol import GLOBAL_SYMBOL_ATTR
from usmp.tir.nodes import nodes_of


@tvm.transform.module_pass(opt_level=0, name="usmp.ConvertBranches")
class ConvertBranches(ModulePass):
    """Replace each `relax.If` in an entry by a call of an operator (see `usmp.ops.control_flow`).

    Each branch becomes the `main` of its own module, whose parameters are the tensors that the
    branches read. If the condition is constant, the branch is inlined. A module without `If` is
    returned as it is.

    Raises
    ------
    UnsupportedModelError
        a condition is no single bool or integer; branches return tensors of different shapes or
        element types, or read anything but tensors of static shape.
    """

    reads = (ENTRIES_ATTR, CONCURRENT_ATTR)
    writes = (CONTROL_FLOW_ATTR,)

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite the entries that branch."""
        branching = [
            variable
            for variable, func in mod.functions.items()
            if str(variable.name_hint) in relax_entries(mod)
            and isinstance(func, relax.Function)
            and nodes_of(func.body, relax.If)
        ]
        for variable in branching:
            mod = _converted(mod, variable)
        return mod


def _converted(mod: IRModule, variable: GlobalVar) -> IRModule:
    # Outside of dataflow blocks, bindings of inlined branches may stand anywhere.
    plain = relax.transform.ToNonDataflow()(mod)
    rewriter = _Branches(plain)
    func = rewriter.visit_expr(plain[variable])
    if rewriter.refused is not None:
        raise rewriter.refused
    changed = rewriter.builder_.get()
    changed.update_func(changed.get_global_var(str(variable.name_hint)), func)
    changed = ResolveMatchCasts()(relax.transform.CanonicalizeBindings()(changed))
    return changed.with_attrs(mod.attrs) if mod.attrs else changed


@mutator
class _Branches(PyExprMutator):  # type: ignore[misc]
    """A mutator that replaces each `If` of a function."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.mod = mod
        self.refused: UnsupportedModelError | None = None
        """The first error. Raised after the visit, because C++ reports blocks left open by
        exceptions."""

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        """Bind the variable to the result of the branch or of the call."""
        if isinstance(binding.value, relax.If) and self.refused is None:
            try:
                result = self._result(binding.value)
                self.set_var_remap(binding.var, self.builder_.emit(result, binding.var.name))
                return
            except UnsupportedModelError as error:
                self.refused = error
        super().visit_var_binding_(binding)

    def _result(self, node: relax.If) -> relax.Expr:
        condition = self.visit_expr(node.cond)
        _check_condition(condition)
        known = self._constant(condition)
        if known is not None:
            branch = node.true_branch if known.value.numpy().item() else node.false_branch
            for block in branch.blocks:
                for inner in block.bindings:
                    self.visit_binding(inner)
            return self.visit_expr(branch.body)
        return self._choice(node, condition)

    def _choice(self, node: relax.If, condition: relax.Expr) -> relax.Expr:
        if str(condition.ty.dtype) != "bool":
            zero = relax.const(0, str(condition.ty.dtype))
            condition = self.builder_.emit(relax.op.not_equal(condition, zero))
        branches = [node.true_branch, node.false_branch]
        read = dict.fromkeys(v for branch in branches for v in relax.analysis.free_vars(branch))
        values = {var: self.visit_expr(var) for var in read}
        constants = {var: self._constant(value) for var, value in values.items()}
        captured = [var for var in read if constants[var] is None]
        for var in captured:
            _check_captured(var, values[var].ty)
        bodies = tuple(_body(self.mod, branch, values, constants) for branch in branches)
        results = [main_function(body).body.body.ty for body in bodies]
        _check_results(*map(flatten_types, results))
        arguments = [condition, *(e for var in captured for e in self._tensors(values[var]))]
        return _nested(results[0], iter(self._call(bodies, arguments, flatten_types(results[0]))))

    def _call(
        self,
        bodies: tuple[IRModule, ...],
        arguments: Sequence[relax.Expr],
        types: Sequence[relax.TensorType],
    ) -> list[relax.Expr]:
        if not types:
            return []
        flow, name = ControlFlow(bodies), "if_then_else"
        return call_control_flow(self.builder_, name, flow, arguments, types)

    def _constant(self, value: relax.Expr) -> relax.Expr | None:
        """Return the constant tensor or shape that a value is, or None."""
        while isinstance(value, Var):
            value = self.lookup_binding(value)
        is_shape = isinstance(value, relax.ShapeExpr) and not nodes_of(value, Var)
        return value if is_shape or isinstance(value, GenericConst) else None

    def _tensors(self, value: relax.Expr) -> list[relax.Expr]:
        """Return a tensor, or the tensors of a tuple, in order."""
        if not isinstance(value.ty, TupleType):
            return [value]
        items = [
            self.builder_.emit(relax.TupleGetItem(value, index))
            for index in range(len(value.ty.fields))
        ]
        return [tensor for item in items for tensor in self._tensors(item)]


def _check_condition(condition: relax.Expr) -> None:
    ty = condition.ty
    is_one = isinstance(ty, relax.TensorType) and has_static_shape(ty)
    if (
        is_one
        and prod(map(int, ty.shape)) == 1
        and str(ty.dtype).startswith(("bool", "int", "uint"))
    ):
        return
    raise UnsupportedModelError(
        f"the condition of an If is {ty}; it must be a tensor of one bool or integer"
    )


def _check_captured(var: Var, whole: tvm.ir.Type) -> None:
    for ty in flatten_types(whole):
        if not isinstance(ty, relax.TensorType) or not has_static_shape(ty):
            raise UnsupportedModelError(
                f"a branch of an If reads {var.name}, {ty}; it must be a tensor of static shape"
            )


def _check_results(types: Sequence[tvm.ir.Type], others: Sequence[tvm.ir.Type]) -> None:
    """Raise if the branches of an `If` return tensors of different types."""
    if len(types) == len(others) and all(
        isinstance(ty, relax.TensorType)
        and has_static_shape(ty)
        and shown_type(ty) == shown_type(o)
        for ty, o in zip(types, others, strict=True)
    ):
        return
    one, other = (", ".join(map(shown_type, group)) or "nothing" for group in (types, others))
    raise UnsupportedModelError(
        f"the branches of an If give {one} and {other}; which of them runs must be known at "
        "compile time, or both must give tensors of the same static shapes and element types"
    )


def _body(
    mod: IRModule,
    branch: relax.SeqExpr,
    values: Mapping[Var, relax.Expr],
    constants: Mapping[Var, relax.Expr | None],
) -> IRModule:
    """Return a module whose `main` computes a branch; tuples become one parameter a tensor.

    Parameters
    ----------
    values
        variable that a branch reads -> its value.
    constants
        variable that a branch reads -> its constant, or None.
    """
    params: list[Var] = []

    def parameter(name: str, ty: tvm.ir.Type) -> relax.Expr:
        if isinstance(ty, TupleType):
            fields = [parameter(f"{name}_{i}", field) for i, field in enumerate(ty.fields)]
            return relax.Tuple(fields)
        params.append(Var(name, ty))
        return params[-1]

    bindings = [
        relax.VarBinding(var, parameter(var.name, value.ty) if known is None else known)
        for (var, value), known in zip(values.items(), constants.values(), strict=True)
    ]
    seq = relax.SeqExpr([relax.BindingBlock(bindings), *branch.blocks], branch.body)
    func = relax.Function(params, seq, branch.body.ty).with_attr(GLOBAL_SYMBOL_ATTR, ONLY_ENTRY)
    main = {GlobalVar(ONLY_ENTRY): relax.utils.copy_with_new_vars(func)}
    body = ConvertBranches()(IRModule({**_reached(mod, seq), **main}))
    return ResolveMatchCasts()(relax.transform.CanonicalizeBindings()(body))


def _reached(mod: IRModule, expr: relax.Expr) -> dict[GlobalVar, tvm.ir.BaseFunc]:
    """Return the functions that an expression calls, at any depth."""
    called = reachable(
        nodes_of(expr, GlobalVar), lambda variable: nodes_of(mod[variable].body, GlobalVar)
    )
    return {variable: mod[variable] for variable in called}


def _nested(ty: tvm.ir.Type, results: Iterator[relax.Expr]) -> relax.Expr:
    """Return a value of type `ty`, with tensors from `results` in order."""
    if isinstance(ty, TupleType):
        return relax.Tuple([_nested(field, results) for field in ty.fields])
    return next(results)
