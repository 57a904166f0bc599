"""Pages of people: follows, groups of people, reports."""
