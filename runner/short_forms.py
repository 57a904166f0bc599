"""The shortest form of every verb that runs a tool: seconds each, through the whole mechanism with small numbers.

None of them writes docs/bench. The full form is `./run VERB` without `--short`.
"""

SHORT = "--short"
# The arguments of `./run`.
SHORT_FORMS: tuple[tuple[str, ...], ...] = (
    ("bench", "caches", SHORT),
    ("bench", "timeline", SHORT),
    ("bench", "policies", SHORT),
    ("bench", "site", SHORT),
    ("capacity", SHORT),
    ("drill", SHORT),
    ("fuzz", SHORT),
    ("house", SHORT),
    ("mutate", SHORT),
    ("scale", SHORT),
    ("vitals", SHORT),
)
