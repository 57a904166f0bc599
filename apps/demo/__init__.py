"""Demo data: people, posts and pictures, so that a new site has something to show."""
