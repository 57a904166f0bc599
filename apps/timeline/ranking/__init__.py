"""The ranked timeline: the newest posts of the home page in another order, which stays as it is while somebody reads."""
