"""The systems that our site is compared with: naive ones, and the machine's limit."""
