"""The machine: its interfaces, its radio, its clock, and what it sees of a connection."""
