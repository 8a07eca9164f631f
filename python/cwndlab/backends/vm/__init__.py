"""Execute runs on stock Linux kernels in virtual machines whose clock counts instructions.

Each instruction of the virtual machine takes a nanosecond of virtual time, and waiting takes no
real time. A result therefore hardly depends on the speed or the load of the host. A run needs no
privileges.
"""
