"""Models for TVM's virtual machine."""
