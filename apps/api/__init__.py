"""The API: Mastodon's endpoints, and extensions."""
