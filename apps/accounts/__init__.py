"""Users, their profiles, settings, credentials and counts. `apps.privacy.erasure` deletes accounts."""
