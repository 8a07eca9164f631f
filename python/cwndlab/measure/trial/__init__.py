"""Conduct switchback trials on a server: change and restore settings, and watch connections."""
