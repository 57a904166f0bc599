"""Makes the accounts: the cast from written profiles, the crowd from lists of names."""

from collections.abc import Iterator, Sequence
from random import Random

from django.contrib.auth.hashers import make_password
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.demo.content.loader import LANGUAGES, Names, Person
from apps.demo.seeding.pictures import store_avatar
from apps.demo.seeding.world import DAY, SPAN_SECONDS, Member, World, batches, moment_of
from apps.errors import Conflict

PASSWORD = "rill-demo"  # noqa: S105 -- not a secret: the command prints it
BATCH = 2_000


def make_people(world: World) -> None:
    """Make the crowd, and the cast unless an earlier run made it."""
    if world.makes_cast:
        _make_cast(world)
    else:
        world.cast = {member.handle: member for member in _existing_cast(world)}
    _make_crowd(world)


def _make_cast(world: World) -> None:
    people = world.content.people
    existing = {
        user.handle: user
        for user in User.objects.filter(handle__in=people).select_related("counts")
    }
    busy = sorted(handle for handle, user in existing.items() if user.counts.last_post_id)
    if busy:
        names = ", ".join(f"@{handle}" for handle in busy)
        message = _(
            "The demo needs the handles %(names)s, but these accounts have written posts already."
        )
        raise Conflict(message % {"names": names})
    rng = world.rng("cast")
    joined = {handle: world.now - rng.uniform(200, 700) * DAY for handle in people}
    users = [
        existing.get(handle) or _cast_user(person, joined[handle])
        for handle, person in people.items()
    ]
    _insert([user for user in users if user.handle not in existing], world)
    for user in users:
        person = people[user.handle]
        world.cast[user.handle] = Member(
            user.pk, user.handle, person.language, joined[user.handle], person.weight, person,
            is_new=user.handle not in existing,
        )  # fmt: skip


def _cast_user(person: Person, joined: float) -> User:
    user = User(
        handle=person.handle,
        display_name=person.name,
        bio=person.bio,
        password=make_password(PASSWORD if person.fixed else None),
        is_staff=person.staff,
        is_superuser=person.staff,
        created_at=moment_of(joined),
    )
    if person.avatar:
        user.avatar = store_avatar(person.avatar)
    return user


def _existing_cast(world: World) -> Iterator[Member]:
    for user in User.objects.filter(handle__in=world.content.people, suspended_at=None).order_by(
        "pk"
    ):
        person = world.content.people[user.handle]
        yield Member(
            user.pk,
            user.handle,
            person.language,
            user.created_at.timestamp(),
            person.weight,
            person,
            is_new=False,
        )


def _make_crowd(world: World) -> None:
    rng, count = world.rng("crowd"), world.size.accounts
    handles = set(User.objects.values_list("handle", flat=True))
    users: list[User] = []
    languages: list[str] = []
    for _number in range(count):
        language = rng.choice(LANGUAGES)
        user = _crowd_user(rng, world.content.names[language], handles, language)
        user.created_at = moment_of(world.now - SPAN_SECONDS - rng.uniform(1, 400) * DAY)
        handles.add(user.handle)
        users.append(user)
        languages.append(language)
    _insert(users, world)
    for user, language in zip(users, languages, strict=True):
        weight = rng.paretovariate(1.6)  # a few generated accounts are well known too
        world.crowd.append(
            Member(user.pk, user.handle, language, user.created_at.timestamp(), weight)
        )


def _crowd_user(rng: Random, names: Names, taken: set[str], language: str) -> User:
    given, family = rng.choice(names.given), rng.choice(names.family)
    name = f"{family[0]}{given[0]}" if language == "zh" else f"{given[0]} {family[0]}"
    bio = rng.choice(names.bios) if rng.random() < 0.6 else ""
    user = User(handle=_handle(rng, given[1], family[1], taken), display_name=name, bio=bio)
    user.set_unusable_password()
    return user


def _handle(rng: Random, given: str, family: str, taken: set[str]) -> str:
    forms = [
        f"{given}_{family}",
        f"{family}{given}",
        f"{given}{family[0]}",
        f"{given}_{family[0]}",
        f"{family}_{given}",
    ]
    rng.shuffle(forms)
    for form in forms:
        if len(form) >= 3 and form not in taken:
            return form
    while True:
        form = f"{given}_{family}{rng.randint(2, 99_999)}"
        if form not in taken:
            return form


def _insert(users: Sequence[User], world: World) -> None:
    for batch in batches(users, BATCH):
        made = User.objects.bulk_create(batch)
        UserCounts.objects.bulk_create(UserCounts(user=user) for user in made)
        world.advance("people", len(made))
