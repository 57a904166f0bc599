"""Users, their profiles, settings, credentials and counts. Accounts are deleted by `apps.privacy.erasure`."""
