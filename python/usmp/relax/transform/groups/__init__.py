"""Groups of operators that TVM's FuseOps puts together, computed by several PrimFuncs where that
lets tensors die earlier."""

from usmp.relax.transform.groups.choice import groups_to_split, with_groups_split

__all__ = ["groups_to_split", "with_groups_split"]
