"""Users, their profiles, settings, credentials and counts."""
