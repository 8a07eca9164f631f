"""Conduct switchback trials on a server: change settings, watch connections, restore."""
