"""Hashtags: what posts are about, who follows which, and how much they are used."""
