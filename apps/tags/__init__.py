"""Hashtags: which posts have them, who follows them, and how often they are used."""
