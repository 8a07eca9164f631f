"""Infer links from measurements: which links explain the measurements, with uncertainty."""
