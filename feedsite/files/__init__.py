"""Files that the site serves: uploaded pictures, and the style sheets of its pages."""
