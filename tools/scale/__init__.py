"""`./run scale`: the site on every supported engine for larger sites, as far as the machine has them."""


class NotToBeHad(Exception):
    """A program that this machine lacks, named in the message."""
