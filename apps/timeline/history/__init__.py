"""Home over time: earlier pages, unread posts, and posts that arrived since the reader left."""
