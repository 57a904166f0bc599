"""Posts in the caches: one by one, by author and week, and their counts."""
