"""`./run fuzz`: random requests to every endpoint and form of a separate site."""
