"""The planner inside other compilers; each module loads its compiler, and none loads TVM."""
