"""Authentication: passwords, passkeys, one-time codes, known devices, and sessions."""
