"""The aggregate feed: what the people whom one follows liked and reposted, and whom they followed."""
