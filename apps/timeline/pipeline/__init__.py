"""From ids to the items of a page: hydrate them, apply the rules and the reader's filters, fill the page."""
