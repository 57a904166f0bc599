"""Pages to read: timelines, profiles, threads, search."""
