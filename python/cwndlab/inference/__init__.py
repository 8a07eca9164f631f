"""Inference of a link from measurements: the links that explain them, with uncertainty."""
