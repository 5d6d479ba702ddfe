"""The walk over TIR that turns a PrimFunc into memory events."""
