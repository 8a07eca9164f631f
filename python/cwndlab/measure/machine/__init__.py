"""The machine: its interfaces, radio and clock, and its view of a connection."""
