"""Read and write text of users: quantities, TOML, and links in one line."""
