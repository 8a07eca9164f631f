"""Conduct trials that switch between two algorithms: change settings, watch connections."""
