"""Text for people: quantities, TOML with line numbers, links in one line."""
