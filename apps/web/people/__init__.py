"""Pages of people: profiles, follows, groups of people, reports."""
