"""Stores the older parts of home timelines as database rows. Without this app, they are read from the posts."""
