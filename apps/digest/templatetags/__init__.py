"""Template tags for the weekly e-mail."""
