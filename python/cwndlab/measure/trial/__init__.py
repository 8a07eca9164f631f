"""Switchback trials on a server: its settings, their way back, and what its connections show."""
