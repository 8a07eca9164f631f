"""Infer links from measurements, with the uncertainty of the inferred properties."""
