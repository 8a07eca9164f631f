"""Algorithms in the running Linux kernel: what it can do, and how ours get there and out again.

What needs privileges happens in a helper process, a program of its own (`crates/kernel`).
"""
