"""The texts of the demo in TOML files, and their loader."""
