"""Algorithms that are not built in: a user's C file, and unmodified files of a Linux kernel.

`program` turns a file into self-contained translation units, `compiler` makes a shared object of
them, `worker` loads it in a process of its own and computes runs with it, and `processes` starts
such processes and reports why one ended. A user's code is never loaded into the process that reads
studies and writes results.
"""
