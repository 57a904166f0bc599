"""Previews of the pages that posts link to. Optional."""
