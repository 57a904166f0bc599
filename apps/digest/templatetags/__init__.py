"""Template tags of the weekly mail."""
