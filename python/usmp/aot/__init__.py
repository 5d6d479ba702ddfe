"""What the lowering of Relax operators and their `main` to AoT TIR is made of."""
