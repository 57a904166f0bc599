"""Which Memcached nodes the site uses: versioned, checked, changed by staff while everything runs."""
