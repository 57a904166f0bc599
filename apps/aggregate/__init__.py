"""The aggregate feed: what a viewer's followees liked and reposted, and who they followed."""
