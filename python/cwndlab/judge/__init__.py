"""Judging: which algorithm is better, by how much, and how certain that is."""
