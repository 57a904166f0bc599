"""The endpoints: one module for each of the resources of Mastodon's API."""
