"""E-mail to account holders: confirms addresses, sends messages, and helps those who are locked out."""
