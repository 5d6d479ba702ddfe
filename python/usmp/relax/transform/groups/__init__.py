"""Groups of fused operators, split into several PrimFuncs where tensors then die earlier."""

from usmp.relax.transform.groups.choice import groups_to_split, with_groups_split

__all__ = ["groups_to_split", "with_groups_split"]
