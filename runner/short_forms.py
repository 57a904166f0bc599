"""The shortest form of every verb that runs a tool: seconds each, through the whole mechanism on small numbers.

None of them writes docs/bench. `./run VERB` without `--short` is the whole form.
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
