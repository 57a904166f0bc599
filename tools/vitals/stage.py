"""Content for the pages to show, created as the viewer, through the API and forms."""

import json
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any
from urllib.parse import urlencode
from zipfile import ZipFile

from playwright.sync_api import APIResponse, Browser, BrowserContext, FilePayload

from tools.vitals.browser import chromium, log_in, window
from tools.vitals.pages import MEMBER, NEWCOMER, VISITOR, Page

OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"
SCOPES = ["read", "write", "follow"]
APPLICATION = {"client_name": "A reader", "redirect_uris": OUT_OF_BAND, "scopes": "read write"}
FOLLOWS = FilePayload(
    name="following_accounts.csv", mimeType="text/csv",
    buffer=b"Account address,Show boosts\nann@elsewhere.example,true\nnobody_at_all,true\n",
)  # fmt: skip
FILTER = {"title": "Endings", "context[]": "home", "filter_action": "warn",
          "keywords_attributes[0][keyword]": "spoiler"}  # fmt: skip
NEWCOMERS_HANDLE, NEWCOMERS_PASSWORD = "newcomer", "a long enough passphrase"
# the year, the text and the content warning of each post
EARLIER = (
    (2017, "The garden in its first spring. #garden", None),
    (2019, "Bread with too much salt in it, eaten all the same.", "Food"),
)
IMPORT_MILLISECONDS = 60_000
LATER = timedelta(days=30)
WEBHOOK = {"url": "https://hooks.example/feed", "types[]": "notification.created"}
FEED = {"name": "Near by", "pinned": "true"}


@dataclass(frozen=True, slots=True)
class Cast:
    """The viewer, and a followed author whose pages are opened; a tag and a word of existing posts."""

    viewer: str
    password: str
    author: str
    tag: str
    word: str


@dataclass(frozen=True, slots=True)
class Scene:
    """A site with content for all pages. `names` has the values for the braces in addresses."""

    site: str
    cast: Cast
    names: dict[str, str]

    def address(self, page: Page) -> str:
        return page.address.format_map(self.names)

    @contextmanager
    def windows(
        self,
        browser: Browser,
        who: Collection[str] = (VISITOR, MEMBER),
        *,
        width: int = 1280,
        language: str = "en",
    ) -> Iterator[dict[str, BrowserContext]]:
        people = {
            one: window(browser, self.site, width=width, language=language) for one in set(who)
        }
        for one, handle, password in (
            (MEMBER, self.cast.viewer, self.cast.password),
            (NEWCOMER, NEWCOMERS_HANDLE, NEWCOMERS_PASSWORD),
        ):
            if one in people:
                tab = people[one].new_page()
                log_in(tab, handle, password)
                tab.close()
        yield people
        for context in people.values():
            context.close()


def prepare(site: str, cast: Cast, *, talks: bool = True) -> Scene:
    """Log the viewer in, and create the content. RuntimeError if the site refuses something.

    Without `talks` there is no conversation, whose message would be first on home.
    """
    with chromium() as browser:
        context = window(browser, site)
        log_in(context.new_page(), cast.viewer, cast.password)
        _join(window(browser, site))
        return Scene(site, cast, _lay(context, cast, talks=talks))


def _join(context: BrowserContext) -> None:
    """Create an account without content; if it exists from an earlier run, it is still empty."""
    with suppress(RuntimeError):
        form = {"handle": NEWCOMERS_HANDLE, "password": NEWCOMERS_PASSWORD}
        submit(context, "/join", form)


def _lay(context: BrowserContext, cast: Cast, *, talks: bool) -> dict[str, str]:
    """Create a list, feed, filter, circle, conversation, scheduled post and application, or reuse existing ones."""
    api = _Api(context, _token(context))
    author = api.get(f"/api/v1/accounts/lookup?acct={cast.author}")
    if not api.get("/api/v1/circles"):
        submit(context, "/settings/circles", {"name": "Choir"})
    if not api.get("/api/v1/scheduled_statuses"):
        later = (datetime.now(UTC) + LATER).isoformat()
        api.post("/api/v1/statuses", {"status": "Later.", "scheduled_at": later})
    application = api.post("/api/v1/apps", APPLICATION)
    asked = {"client_id": application["client_id"], "redirect_uri": OUT_OF_BAND,
             "response_type": "code", "scope": APPLICATION["scopes"]}  # fmt: skip
    return {
        "viewer": cast.viewer,
        "author": cast.author,
        "word": cast.word,
        "post": _richest_post(api, cast.author),
        "own_post": _richest_post(api, cast.viewer),
        "tag": cast.tag,
        "conversation": _conversation(context, api, cast.author) if talks else "0",
        "list": _list(api, author["id"]),
        "feed": _first(api, "/api/x/feeds", {**FEED, "include_people[]": cast.author}),
        "collection": _collection(api, author["id"]),
        "webhook": _first(api, "/api/x/webhooks", WEBHOOK),
        "filter": _first(api, "/api/v2/filters", FILTER),
        "circle": api.get("/api/v1/circles")[0]["id"],
        "import": _import(context),
        "earlier": _earlier(context, cast.viewer),
        "consent": urlencode(asked),
    }


def _collection(api: "_Api", member_id: str) -> str:
    """A collection with somebody in it."""
    viewer_id = api.get("/api/v1/accounts/verify_credentials")["id"]
    found = api.get(f"/api/v1/accounts/{viewer_id}/collections")["collections"]
    if not found:
        new = {"name": "Good people", "account_ids[]": member_id}
        found = [api.post("/api/v1/collections", new)["collection"]]
    return str(found[0]["id"])


def _import(context: BrowserContext) -> str:
    """An import with lines that fail."""
    tab = context.new_page()
    tab.goto("/settings/export")
    if tab.locator("#imports a").count():
        tab.locator("#imports a").first.click()
    else:
        tab.set_input_files("input[type=file]", FOLLOWS)
        tab.click("form[action='/settings/import'] button")
    tab.wait_for_url("**/settings/import/*")
    number = tab.url.rpartition("/")[2]
    tab.close()
    return number


def _earlier(context: BrowserContext, viewer: str) -> str:
    """A post of an archive, once a worker has imported it."""
    tab = context.new_page()
    tab.goto(f"/@{viewer}/earlier")
    if not tab.locator("article").count():
        tab.goto("/settings/export")
        tab.locator("#imports[hx-get]").wait_for(state="detached", timeout=IMPORT_MILLISECONDS)
        tab.select_option("select[name=kind]", "posts")
        tab.set_input_files("input[type=file]", _archive())
        tab.click("form[action='/settings/import'] button")
        tab.wait_for_url("**/settings/import/*")
        tab.locator("#import progress").wait_for(state="detached", timeout=IMPORT_MILLISECONDS)
        tab.goto(f"/@{viewer}/earlier")
    address = tab.locator("article p.fine a").first.get_attribute("href") or ""
    tab.close()
    return address.rpartition("/")[2]


def _archive() -> FilePayload:
    """An archive of a Mastodon account with two posts."""
    actor = "https://before.example/users/ann"
    everybody = ["https://www.w3.org/ns/activitystreams#Public"]
    notes = [
        {
            "id": f"{actor}/statuses/{year}", "type": "Note", "attributedTo": actor, "to": everybody, "cc": [],
            "published": f"{year}-04-12T09:30:00Z", "content": f"<p>{text}</p>", "summary": warning,
        }
        for year, text, warning in EARLIER
    ]  # fmt: skip
    outbox = [{"type": "Create", "actor": actor, "object": note} for note in notes]
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("actor.json", json.dumps({"id": actor}))
        archive.writestr("outbox.json", json.dumps({"orderedItems": outbox}))
    return FilePayload(name="archive.zip", mimeType="application/zip", buffer=file.getvalue())


def _richest_post(api: "_Api", handle: str) -> str:
    """A post with pictures, and with as many replies as possible."""
    person = api.get(f"/api/v1/accounts/lookup?acct={handle}")
    posts = api.get(f"/api/v1/accounts/{person['id']}/statuses?exclude_reblogs=true&limit=40")
    best = max(posts, key=lambda post: (bool(post["media_attachments"]), post["replies_count"]))
    return str(best["id"])


def _conversation(context: BrowserContext, api: "_Api", handle: str) -> str:
    if not api.get("/api/v1/conversations"):
        message = {"to": handle, "body": "Are you coming on Saturday?"}
        submit(context, f"/conversations/new?to={handle}&q=", message)
    return str(api.get("/api/v1/conversations")[0]["id"])


def _list(api: "_Api", member: str) -> str:
    made = _first(api, "/api/v1/lists", {"title": "Close by"})
    people = f"/api/v1/lists/{made}/accounts"
    if not api.get(people):
        api.post(people, {"account_ids[]": member})
    return made


def _first(api: "_Api", address: str, fields: dict[str, str]) -> str:
    found: list[dict[str, str]] = api.get(address)
    return found[0]["id"] if found else str(api.post(address, fields)["id"])


def submit(
    context: BrowserContext, address: str, fields: dict[str, Any], *, to: str = ""
) -> APIResponse:
    """Submit a form of a page like a browser without scripts, to another address if `to` is set."""
    shown = _checked(context.request.get(address))
    secret = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', shown.text())
    if secret is None:
        raise RuntimeError(f"{address} has no form")
    values = {"csrfmiddlewaretoken": secret[1], **fields}
    body = urlencode(values, doseq=True)
    headers = {"Referer": shown.url, "Content-Type": "application/x-www-form-urlencoded"}
    return _checked(context.request.post(to or address, data=body, headers=headers))


def _token(context: BrowserContext) -> str:
    form = {"name": "vitals", "scopes": SCOPES}
    shown = submit(context, "/settings/account", form, to="/settings/tokens")
    found = re.search(r'class="token">([^<]+)<', shown.text())
    if found is None:
        raise RuntimeError("no access token was shown")
    return found[1]


class _Api:
    def __init__(self, context: BrowserContext, token: str) -> None:
        self._ask = context.request
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, address: str) -> Any:
        return _checked(self._ask.get(address, headers=self._headers)).json()

    def post(self, address: str, fields: dict[str, str]) -> Any:
        return _checked(self._ask.post(address, headers=self._headers, form=dict(fields))).json()


def _checked(response: APIResponse) -> APIResponse:
    if not response.ok:
        raise RuntimeError(f"{response.url} answered {response.status}: {response.text()[:200]}")
    return response
