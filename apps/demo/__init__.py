"""The demo: a small world of people, pictures and posts, so that a new site is worth reading at once."""
