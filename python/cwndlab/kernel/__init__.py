"""Loading algorithms into the running Linux kernel, and unloading them.

Everything that needs privileges happens in a helper process (`crates/kernel`).
"""
