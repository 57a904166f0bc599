"""Timelines: home, profile, public, tags, lists and threads; publishing and fan-out."""
