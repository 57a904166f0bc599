"""Posts, replies, reposts, quotes, mentions, polls and attachments."""
