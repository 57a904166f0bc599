"""Translations of posts by a service that the site names. Optional."""
