"""Pictures: uploads decoded in a sandbox, avatars, crops, addresses, BlurHash."""
