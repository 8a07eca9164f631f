"""Measure on real networks: studies transfer data to and from a server (`cwndlab serve`)."""
