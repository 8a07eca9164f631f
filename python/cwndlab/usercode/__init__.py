"""Run algorithms that are not built in: C files of users, or C files from Linux's source.

The module `program` converts a file into self-contained translation units, and `compiler` compiles
these units into a shared object. `worker` loads the shared object in a separate process and
computes runs. `processes` starts these processes and reports why a process ended. A user's code is
never loaded into the process that reads studies and writes results.
"""
