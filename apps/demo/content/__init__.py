"""What the demo says: people, posts, conversations and captions in TOML files, and what reads them."""
