"""Who: users, their profiles, settings and access tokens."""
