"""The configuration of Sphinx for the documentation site; `tools.docs.site` lays out the pages."""

from feedsite import __version__

project = "feedsite"
version = release = __version__
extensions = ["myst_parser"]
root_doc = "docs/README"
myst_heading_anchors = 5
# Pygments cannot highlight blocks of code with omissions, nor some shells.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"feedsite {__version__}"
html_copy_source = False
html_show_sphinx = False
