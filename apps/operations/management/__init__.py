"""Commands of the operations app."""
