"""Commands of the engagement app."""
