"""Search, trends, and suggestions of accounts to follow."""
