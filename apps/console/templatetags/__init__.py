"""Template filters for the cache console."""
