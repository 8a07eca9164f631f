"""Inferring a link from measurements: which links explain them, and how certain that is."""
