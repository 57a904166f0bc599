"""What happened to me: follows, likes, reposts, replies, mentions, quotes."""
