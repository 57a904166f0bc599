"""Feeds that people make by rules: whose posts, which tags and words, and what of these to leave out."""
