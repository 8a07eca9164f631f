"""Runs on the kernel of this machine: real sockets over an emulated link, in real time.

What needs privileges and a clock happens in a helper process (`crates/testbed`), so that nothing
else of cwndlab needs either, and nothing stays behind when it ends.
"""
