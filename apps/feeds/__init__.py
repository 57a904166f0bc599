"""Feeds that people define by rules: whose posts, which tags and words to include, and which to leave out."""
