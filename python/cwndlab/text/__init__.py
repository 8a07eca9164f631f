"""Text that people read or write: quantities, TOML with line numbers, links in one line."""
