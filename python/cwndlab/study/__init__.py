"""A study: its document, the combinations of its factors' levels, and its description."""
