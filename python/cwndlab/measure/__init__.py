"""Measure on real networks: a server (`cwndlab serve`), and studies that exchange data with it."""
