"""The pictures of the demo, drawn with code: each scene is a function of a canvas whose seed varies it."""
