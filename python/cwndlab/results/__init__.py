"""Results: their columns, their tables on disk, and what is computed from them."""
