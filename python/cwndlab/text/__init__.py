"""Texts that people and programs write: read, and written."""
