"""Mastodon's API for programs of staff, below /api/v1/admin. Optional."""
