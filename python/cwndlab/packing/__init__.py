"""`cwndlab pack`: a study as one file that others can check, cite and plot again."""

from cwndlab.packing.bundle import pack

__all__ = ["pack"]
