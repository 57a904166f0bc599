"""Translations of posts by a service that the settings name. Optional."""
