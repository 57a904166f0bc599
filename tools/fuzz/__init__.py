"""Requests that nobody thought of, to every endpoint and every form of a site of its own: `./run fuzz`."""
