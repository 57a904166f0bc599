"""Refuses sign-ups, by blocks that staff set and by limits during a wave."""
