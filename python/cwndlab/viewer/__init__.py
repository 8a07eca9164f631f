"""Results of this machine in a browser, served to this machine only."""
