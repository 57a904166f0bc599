import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import AccessToken, User
from tests.support.cases import each
from tests.support.factories import user_of_token
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db


def test_create_user_makes_an_account(capsys):
    call_command(
        "create_user",
        "Mei",
        "--password",
        "short",
        "--email",
        "Mei@example.org",
        "--display-name",
        "Mei Lin",
    )
    user = User.objects.get(handle="mei")
    assert (user.email, user.display_name, user.is_staff, user.is_superuser) == (
        "mei@example.org",
        "Mei Lin",
        False,
        False,
    )
    assert user.check_password("short")
    assert capsys.readouterr().out == "Made @mei.\n"


def test_create_user_makes_staff():
    call_command("create_user", "op1", "--password", "x", "--staff")
    user = User.objects.get(handle="op1")
    assert (user.is_staff, user.is_superuser) == (True, True)


@each(
    "arguments",
    [["alice"], ["!!"], ["other", "--email", "alice@example.org"], ["other", "--email", "x"]],
)
def test_create_user_says_in_one_line_what_is_wrong(alice, arguments):
    with pytest.raises(CommandError) as error:
        call_command("create_user", *arguments, "--password", "x")
    assert "\n" not in str(error.value)
    assert User.objects.count() == 1


def test_token_prints_the_token_as_its_last_word(alice, capsys):
    call_command("token", "@Alice")
    assert user_of_token(capsys.readouterr().out.split()[-1]) == alice


def test_token_of_nobody_is_refused(db):
    with pytest.raises(CommandError, match="no account"):
        call_command("token", "nobody")


def test_a_token_with_a_long_name_is_refused_or_cut(alice, capsys):
    call_command("token", "alice", "--name", "x" * 200)
    assert user_of_token(capsys.readouterr().out.split()[-1]) == alice


def test_a_token_has_the_scopes_that_its_account_can_have(alice, capsys):
    call_command("token", "alice", "--scopes", "read push")
    assert user_of_token(capsys.readouterr().out.split()[-1]) == alice
    assert AccessToken.objects.get().scopes == "read push"
    for scopes in ("read admin:read", "nonsense", ""):
        with pytest.raises(
            CommandError, match="The scopes for @alice are: follow .*write:statuses$"
        ):
            call_command("token", "alice", "--scopes", scopes)
    make_staff(handle="moderator")
    call_command("token", "moderator", "--scopes", "admin:read admin:write:reports")
    assert AccessToken.objects.latest("pk").scopes == "admin:read admin:write:reports"
