"""Messages: posts for mentioned people. A conversation is a thread of them, with one row for each member of it."""
