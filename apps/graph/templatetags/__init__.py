"""Template tags of the graph app."""
