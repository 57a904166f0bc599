"""Template tags for staff pages."""
