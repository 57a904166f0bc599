"""Feeds that people define with rules: the people, tags and words to include, and those to leave out."""
