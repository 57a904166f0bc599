"""Translations of posts by a service that is named in the settings. Optional."""
