"""The systems measured beside our site: naive ones, and the machine's limit."""
