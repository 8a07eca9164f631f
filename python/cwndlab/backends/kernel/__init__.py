"""Execute runs on this machine's kernel: real sockets over an emulated link, in real time.

A helper process (`crates/testbed`) performs all operations that need privileges or exact timing, so
that the Python code needs neither. When the helper ends, it removes everything that it has created.
"""
