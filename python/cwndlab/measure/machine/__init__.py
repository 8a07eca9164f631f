"""Observe this computer: its network interfaces, radio, clock and TCP connections."""
