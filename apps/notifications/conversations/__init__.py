"""Messages: posts for mentioned people only. A conversation is a thread of messages, with one row for each member."""
