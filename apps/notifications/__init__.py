"""What happened to a member: follows, likes, reposts, replies, mentions, quotes; conversations and announcements."""
