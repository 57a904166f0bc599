"""The servers a site needs, as real programs over Unix sockets: one module each, all with the same shape."""
