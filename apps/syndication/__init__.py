"""Feeds of public posts for feed readers, and preview images for links to posts without pictures."""
