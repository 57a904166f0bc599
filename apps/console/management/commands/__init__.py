"""Management commands of the console."""
