"""What can be expected to go wrong, told to a person in one line."""


class LaunchError(Exception):
    """An expected failure; its text is one plain line for the terminal, without a traceback."""
