"""A study: its document, its combinations of levels, and its description."""
