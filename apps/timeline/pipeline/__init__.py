"""Turns ids into the items of a page: hydrates them, applies the rules and the reader's filters, fills the page."""
