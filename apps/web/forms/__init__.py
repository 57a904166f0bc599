"""The forms of the pages. They parse and render input; the actions of the apps validate it."""
