"""Template tags for spam."""
