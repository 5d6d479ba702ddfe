"""What archives and plans say, as plain data: nothing here loads TVM.

Classes of `usmp.objects` that modules of TVM have as attributes add themselves to the fields of
those here.
"""
