"""Pack a study and its results into one archive that other people can check, cite and plot."""

from cwndlab.packing.bundle import pack

__all__ = ["pack"]
