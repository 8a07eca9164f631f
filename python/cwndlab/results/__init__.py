"""Results of runs: columns, tables on disk, and metrics computed from the tables."""
