"""Commands of the graph app."""
