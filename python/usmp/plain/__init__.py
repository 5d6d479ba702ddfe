"""Plain data of archives and plans, which does not load TVM.

Classes of `usmp.objects` that are attributes of TVM modules extend the classes here.
"""
