"""Where the ids of a timeline come from: home cache, outboxes, second level, PostgreSQL."""
