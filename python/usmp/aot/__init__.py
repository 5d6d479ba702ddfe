"""The lowering of Relax operators and their `main` to AoT TIR."""
