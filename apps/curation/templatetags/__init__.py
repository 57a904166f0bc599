"""Template tags for collections."""
