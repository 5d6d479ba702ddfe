"""What TIR of every layer is made of: names of functions in C, walks over nodes."""
