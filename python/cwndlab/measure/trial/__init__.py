"""Conduct trials, which switch between two algorithms and watch users' connections."""
