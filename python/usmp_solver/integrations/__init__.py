"""The planner inside other compilers, by the interfaces that they have.

One package a compiler, which loads that compiler; nothing here is loaded by `import usmp_solver`.
"""
