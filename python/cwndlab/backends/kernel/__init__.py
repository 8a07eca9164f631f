"""Runs on the kernel of this machine: real sockets over an emulated link, in real time.

Everything that needs privileges or a clock happens in a helper process (`crates/testbed`), so the
rest of cwndlab needs neither, and nothing is left over when the helper ends.
"""
