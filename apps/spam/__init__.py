"""Examines new posts for spam."""
