"""Judging: which algorithm is better, by how much, and how sure that is."""
