"""Notifications (of follows, likes, reposts, replies, mentions, quotes), conversations, and announcements."""
