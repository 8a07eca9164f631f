"""Infer from measurements which links explain them, with the uncertainty of the result."""
