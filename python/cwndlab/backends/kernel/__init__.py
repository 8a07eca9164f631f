"""Runs on the kernel of this machine: real sockets over an emulated link, in real time.

A helper process (`crates/testbed`) does everything that needs privileges or a clock, so the rest
of cwndlab needs neither. When the helper ends, it leaves nothing behind.
"""
