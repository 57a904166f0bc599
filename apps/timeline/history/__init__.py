"""Home at another time: earlier pages, unread posts, and what has arrived since the reader left."""
