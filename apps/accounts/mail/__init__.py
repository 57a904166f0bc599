"""Mail to account holders: the address that is confirmed, and the letters that are sent."""
