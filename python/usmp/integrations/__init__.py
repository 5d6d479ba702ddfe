"""The planner inside other compilers; each module loads its compiler, but not TVM."""
