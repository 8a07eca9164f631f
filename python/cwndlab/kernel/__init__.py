"""Load algorithms into the running Linux kernel, and unload them.

A helper process (`crates/kernel`) executes every operation that needs privileges.
"""
