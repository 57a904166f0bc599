"""Uploads: decodes pictures, video and sound in sandboxes, crops avatars, makes addresses and blurred previews."""
