"""Template tags of the pages of staff."""
