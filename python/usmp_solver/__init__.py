"""The placement problem by itself, for any compiler: nothing here loads TVM."""
