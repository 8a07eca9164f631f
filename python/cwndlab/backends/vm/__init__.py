"""Runs on stock Linux kernels in a virtual machine whose clock counts executed instructions.

A guest instruction takes a nanosecond of virtual time, and waiting takes no real time, so a result
hardly depends on the speed or load of the host. A run needs no privileges.
"""
