"""Documents for other programs: sitemaps, oEmbed, and documents at well-known addresses."""
