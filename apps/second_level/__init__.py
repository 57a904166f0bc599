"""The second level: home timelines as rows, below the home caches. Without it, older ids are read from the posts."""
