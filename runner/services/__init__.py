"""PostgreSQL, Redis and Memcached for a site, as processes on Unix sockets."""
