"""The texts of the demo: TOML files, and their loader."""
