"""Commands of the timeline app."""
