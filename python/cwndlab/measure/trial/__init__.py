"""Conduct trials: alternate between two algorithms, and measure the connections of users."""
