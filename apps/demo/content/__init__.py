"""The demo's texts: TOML files and their loader."""
