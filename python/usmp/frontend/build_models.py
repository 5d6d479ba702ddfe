"""Reading of the models that `usmp.build` takes: modules and files, one or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from tvm.ir import IRModule

from usmp.frontend.dynamic_sizes import AskedSizes
from usmp.frontend.model_file import import_with_sizes
from usmp.objects.entries import models_by_name
from usmp.relax.join_models import join_models
from usmp.relax.symbolic_sizes import size_names, with_max_sizes

Model: TypeAlias = "IRModule | str | Path"


def import_models(
    mod: object,
    shared_state: bool,
    max_sizes: Mapping[str, int | None],
    input_shapes: Mapping[str, Sequence[int]],
) -> IRModule:
    """Read the models of `usmp.build` into one module, in which each model is an entry.

    Parameters
    ----------
    mod
        a module or the path of a model file; or a list of them; or a mapping from names to them.
    shared_state
        whether states of the same name are shared between models.
    max_sizes, input_shapes
        the options of `usmp.build`.

    Raises
    ------
    UnsupportedModelError
        a file cannot be read, or static C cannot express its model.
    ValueError
        two models have the same name, shapes are given for a module, or no model has a size or
        input that the user names.
    TypeError
        a model is neither a module nor a path.
    """
    is_one = isinstance(mod, str | Path | IRModule)
    asked = AskedSizes(max_sizes, is_for_one_model=is_one, input_shapes=input_shapes)
    joined = _join(mod, shared_state, asked)
    asked.check_all_known()
    return joined


def _join(mod: object, shared_state: bool, asked: AskedSizes) -> IRModule:
    """Join several models into one module; models in a list are named after their files."""
    if isinstance(mod, Sequence) and not isinstance(mod, str | bytes):
        mod = models_by_name(
            (Path(model).stem if isinstance(model, str | Path) else None, model) for model in mod
        )
    if isinstance(mod, Mapping):
        models = {str(name): _read(model, asked) for name, model in mod.items()}
        return join_models(models, shared_state)
    return _read(mod, asked)


def _read(mod: object, asked: AskedSizes) -> IRModule:
    """Read a model file, or bind the largest sizes of a module."""
    if isinstance(mod, str | Path):
        return import_with_sizes(mod, asked)
    if not isinstance(mod, IRModule):
        raise TypeError(
            "usmp.build takes a Relax IRModule or the path of a model file, not "
            f"{type(mod).__name__}; usmp.import_model reads files"
        )
    if asked.input_shapes and asked.is_for_one_model:
        raise ValueError(
            "input_shapes are for model files; tvm.relax.transform.BindSymbolicVars gives the "
            "symbolic sizes of a module values"
        )
    if not asked.max_sizes:
        return mod
    names = size_names(mod)
    asked.read_sizes(names)
    return with_max_sizes(mod, {n: v for n, v in asked.max_sizes.items() if n in names})
