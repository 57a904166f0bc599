"""E-mail of account holders: confirmed addresses, and the messages to them."""
