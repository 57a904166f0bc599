"""Commands of the demo app."""
