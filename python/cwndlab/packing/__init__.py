"""`cwndlab pack`: pack a study into one file that others can check, cite and plot again."""

from cwndlab.packing.bundle import pack

__all__ = ["pack"]
