"""Pages of timelines and posts: reading, writing, acting."""
