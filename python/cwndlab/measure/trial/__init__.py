"""Switchback trials on a server: changing settings, restoring them, watching connections."""
