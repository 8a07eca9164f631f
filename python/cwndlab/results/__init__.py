"""Results: columns, tables on disk, and metrics computed from the tables."""
