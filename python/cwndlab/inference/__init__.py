"""Infer the kind and the parameters of a link from measurements, with their uncertainty."""
