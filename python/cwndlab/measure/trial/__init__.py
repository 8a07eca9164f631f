"""Conduct switchback trials on a server: change and restore settings, watch connections."""
