"""A user's data: exported as an archive, or erased with the account."""
