"""Forms of pages: they parse and render input; the actions of the apps validate it."""
