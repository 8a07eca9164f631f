"""Observe the network interfaces, radio, clock and TCP connections of this computer."""
