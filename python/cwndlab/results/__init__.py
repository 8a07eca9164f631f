"""Store the results of runs: columns, tables on disk, and metrics computed from tables."""
