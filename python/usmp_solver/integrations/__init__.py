"""Integrations of the solver into other compilers, by their own interfaces.

There is one package for each compiler, which loads that compiler. `import usmp_solver` loads none.
"""
