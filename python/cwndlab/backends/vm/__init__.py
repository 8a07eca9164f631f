"""Runs on stock Linux kernels in a virtual machine whose time is counted in instructions.

A guest instruction takes a nanosecond of virtual time, and waiting costs no real time, so a result
hardly depends on the speed or the load of the host. A run needs no privileges.
"""
