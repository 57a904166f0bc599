"""Members' reports to staff, and the rules of the site."""
