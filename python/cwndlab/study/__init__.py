"""A study: its document, the combinations of its factors, and what it says of itself."""
