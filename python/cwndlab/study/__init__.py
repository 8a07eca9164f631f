"""A study: its document, the combinations of its factors, and its description."""
