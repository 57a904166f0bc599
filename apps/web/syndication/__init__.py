"""Documents for other programs: feeds, previews, sitemaps, discovery."""
