"""From ids to the items of a page: hydrate, apply the rules and the reader's filters, fill the page."""
