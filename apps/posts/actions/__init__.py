"""Actions on posts: publish, edit, schedule, mute a thread. Drafts are validated first."""
