"""Who sees what, when: home, profile, public timeline, bookmarks and threads; fan-out."""
