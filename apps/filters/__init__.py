"""Filters: words and posts that a reader wants to be warned about, or not to see. They affect only their owner."""
