"""Hashtags, their uses in posts, their followers, and counts of their uses."""
