"""Hashtags: which posts have them, who follows them, and how much they are used."""
