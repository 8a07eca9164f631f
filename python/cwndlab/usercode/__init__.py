"""Algorithms that are not built in: a user's C file, and unmodified files of a Linux kernel.

`program` turns a file into translation units that are complete in themselves, `compiler` makes a
shared object of them, `worker` loads it in a process of its own and computes runs with it,
`processes` starts such processes and tells why one ended. Nothing of a user's code is ever loaded
into the process that reads studies and writes results.
"""
