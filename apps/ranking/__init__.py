"""The ranked timeline: the newest posts of the home page in another order, which stays stable from page to page."""
