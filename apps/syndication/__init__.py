"""The site for visitors without an account: feeds, preview images, sitemaps, OpenSearch."""
