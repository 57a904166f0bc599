"""Template filters of the cache console."""
