"""Text that users read or write: quantities, TOML with line numbers, and links in one line."""
