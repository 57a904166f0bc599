"""The cache topology: Memcached nodes in versions that staff change while the site runs."""
