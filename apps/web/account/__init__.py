"""Pages for the viewer's own account: login, settings, privacy."""
