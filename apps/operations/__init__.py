"""The cache topology, which staff change while the site runs: each change makes a new version."""
