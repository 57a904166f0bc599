"""Pages of accounts: entering and leaving, settings."""
