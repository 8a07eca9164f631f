"""Results: their columns, their tables on disk, and metrics computed from them."""
