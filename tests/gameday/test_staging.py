"""Game days are refused on every site but a staging site."""

import pytest
from django.core.management import CommandError, call_command

from apps.errors import NotAllowed
from apps.gameday.checks import check_gameday
from apps.gameday.staging import is_staging, require_staging
from tests.support.cases import each


@each(
    "production, value, is_allowed",
    [
        (False, "", False),
        (False, "1", True),
        (False, "staging.example.org", True),
        (False, "www.example.org", False),
        (True, "", False),
        (True, "1", False),  # the settings of a test machine, copied to a real site
        (True, "staging.example.org", True),
        (True, "www.example.org", False),  # the settings of another site
    ],
)
def test_only_a_value_that_confirms_the_site_allows_game_days(
    settings, production, value, is_allowed
):
    settings.SITE_URL = "https://staging.example.org"
    settings.PRODUCTION, settings.GAMEDAY = production, value
    assert is_staging() is is_allowed
    assert [error.id for error in check_gameday()] == (
        [] if is_allowed or not value else ["feedsite.E033"]
    )
    if not is_allowed:
        with pytest.raises(NotAllowed):
            require_staging()


def test_the_command_does_nothing_elsewhere(settings):
    settings.GAMEDAY = ""
    with pytest.raises(CommandError, match="GAMEDAY=1"):
        call_command("gameday", "run", "--lot", "--yes")
