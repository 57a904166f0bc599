"""Collections: lists of accounts that people recommend to others."""
