"""Read and write text as users write it: quantities, TOML files, and links in one line."""
