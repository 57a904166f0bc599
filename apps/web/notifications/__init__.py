"""Pages of notifications, conversations and announcements."""
