"""Checks of the code that no other program offers; called by `./run lint`."""
