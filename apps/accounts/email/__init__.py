"""E-mail to account holders: confirms addresses, sends messages, and helps people who are locked out."""
