"""Algorithms that are not built in: a user's C file, and unmodified files of a Linux kernel.

`program` turns a file into self-contained translation units, `compiler` compiles the units to a
shared object, `worker` loads the object in a separate process and computes runs, and `processes`
starts these processes and reports why a process ended. A user's code is never loaded into the
process that reads studies and writes results.
"""
