"""Mastodon's API for programs that staff use, below /api/v1/admin. Optional."""
