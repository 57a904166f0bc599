"""What the site tells those who come without an account: feed readers, crawlers, browsers that look for a search."""
