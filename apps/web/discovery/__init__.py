"""Documents for other programs: sitemaps, oEmbed, and what is looked for at agreed addresses."""
