"""Template tags of the tags app."""
