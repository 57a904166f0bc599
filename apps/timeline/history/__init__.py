"""Home at another time: as it was at a moment, what is unread, and what came since the reader left off."""
