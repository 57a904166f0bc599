"""The short form of every verb that runs a tool: it takes seconds, and runs all of the tool's steps with small numbers.

Short forms do not write docs/bench. The full form is `./run VERB` without `--short`.
"""

SHORT = "--short"
# The arguments of `./run`.
SHORT_FORMS: tuple[tuple[str, ...], ...] = (
    ("bench", "caches", SHORT),
    ("bench", "timeline", SHORT),
    ("bench", "policies", SHORT),
    ("bench", "site", SHORT),
    ("bench", "soak", SHORT),
    ("bench", "streams", SHORT),
    ("capacity", SHORT),
    ("drill", SHORT),
    ("fuzz", SHORT),
    ("house", SHORT),
    ("mutate", SHORT),
    ("scale", SHORT),
    ("vitals", SHORT),
)
