"""Pages of the viewer's own account: login, settings, privacy."""
