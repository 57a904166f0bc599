"""Home at another time: as it was at a moment, and what came since its reader left off."""
