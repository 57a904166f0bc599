"""Seeds the demo: people, then follows, posts, reactions, counts; all in one transaction."""
