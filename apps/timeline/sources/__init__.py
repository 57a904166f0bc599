"""The sources of the ids of a timeline: home cache, outboxes, second level, PostgreSQL."""
