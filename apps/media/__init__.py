"""Uploads: pictures, video and sound in sandboxes; avatars, crops, captions, addresses, BlurHash."""
