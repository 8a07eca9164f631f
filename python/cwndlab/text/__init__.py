"""Text that people write and read: quantities, TOML with places, links in one line."""
