"""The endpoints, with one module for each resource of Mastodon's API."""
