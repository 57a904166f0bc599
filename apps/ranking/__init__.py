"""The ranked timeline: the newest posts of the home page in another order, stable while a reader pages through it."""
