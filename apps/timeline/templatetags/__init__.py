"""Template tags of the timeline app."""
