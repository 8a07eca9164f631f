"""Results in a browser: those on this machine, served to this machine only."""
