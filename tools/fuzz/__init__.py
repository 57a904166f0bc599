"""`./run fuzz`: random requests to every endpoint and form of a site of its own."""
