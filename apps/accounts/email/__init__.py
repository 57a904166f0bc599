"""E-mail to account holders: confirming addresses, sending messages, and rescuing those who are locked out."""
