"""`./run scale`: the site on every engine that it can grow onto, as far as the machine has them."""


class NotToBeHad(Exception):
    """A program that this machine lacks; the message says which."""
