"""The second level: home timelines as rows, below the home caches. Without it, older pages are read from the posts."""
