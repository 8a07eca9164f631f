"""Load algorithms into the running Linux kernel, and unload them.

Every operation that needs privileges happens in a helper process (`crates/kernel`).
"""
