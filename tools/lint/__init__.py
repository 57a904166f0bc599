"""Checks of the code that no other program makes: `./run lint` calls them."""
