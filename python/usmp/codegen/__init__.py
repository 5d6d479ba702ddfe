"""Code generation from planned TIR: C sources, header and Model Library Format."""
