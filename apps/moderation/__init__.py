"""Reports of members to staff, and the rules of the site."""
