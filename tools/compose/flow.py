"""The acceptance flow: what people and programs do with a new site, through the proxy with TLS."""

import base64
import json
import re
import secrets
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPSConnection
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

import requests
from django_otp.oath import totp
from PIL import Image

from tools.compose.containers import GATEWAY
from tools.compose.project import DOMAIN, Project

SITE = f"https://{DOMAIN}"
REDIRECT = "urn:ietf:wg:oauth:2.0:oob"
WAIT_SECONDS, STREAM_SECONDS = 60.0, 90.0
YEAR = 31_536_000
Say = Callable[[str], None]


class FlowFailed(Exception):
    """A step had another result than expected."""


class Mailbox:
    """An SMTP server that keeps what it gets."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self._server = socketserver.ThreadingTCPServer((GATEWAY, 25), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def link(self, pattern: str) -> str:
        """The first address in a message that matches a pattern, as soon as there is one."""
        return str(wait(f"no mail with {pattern}", lambda: self._find(pattern)))

    def _find(self, pattern: str) -> str:
        texts = (text.replace("=\n", "").replace("=3D", "=") for text in self.messages)
        found = [match for text in texts for match in re.findall(pattern, text)]
        return str(found[0]) if found else ""

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[socketserver.StreamRequestHandler]:
        messages = self.messages

        class Session(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 mail\r\n")
                while line := self.rfile.readline():
                    verb = line[:4].upper()
                    if verb == b"DATA":
                        self.wfile.write(b"354 go on\r\n")
                        body = iter(self.rfile.readline, b".\r\n")
                        messages.append(b"".join(body).decode().replace("\r\n", "\n"))
                    self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")

        return Session


class Browser:
    """A person's browser, which trusts the project's certificate."""

    def __init__(self, project: Project) -> None:
        self.http = requests.Session()
        self.http.trust_env = False
        self.http.verify = str(project.certificate)

    def get(self, path: str, **options: Any) -> requests.Response:
        return self.http.get(f"{SITE}{path}", timeout=30, **options)

    def submit(self, path: str, to: str = "", **values: str) -> requests.Response:
        """Open a page, and send its form to itself or another path as a browser does."""
        page = self.get(path)
        found = re.findall(r'csrfmiddlewaretoken" value="([^"]+)"', page.text)
        expect(f"{path} has a form (it answers {page.status_code})", bool(found))
        headers = {"Referer": f"{SITE}{path}", "Origin": SITE}
        data = {"csrfmiddlewaretoken": found[0], **values}
        return self.http.post(
            f"{SITE}{to or path}", data=data, headers=headers, allow_redirects=False, timeout=30
        )


class Person:
    """An account with its browser, and a token for programs once it has one."""

    def __init__(self, project: Project, handle: str) -> None:
        self.project, self.handle, self.password = project, handle, secrets.token_urlsafe(12)
        self.browser = Browser(project)
        self.headers: dict[str, str] = {}

    def sign_up(self, mails: Mailbox) -> None:
        """Sign up, confirm the address with the link in the mail, and log in again."""
        answer = self.browser.submit(
            "/join", handle=self.handle, display_name=self.handle.title(), email=f"{self.handle}@example.org",
            password=self.password,
        )  # fmt: skip
        expect(
            f"sign-up answers 303, not {answer.status_code}: {_errors(answer)}",
            answer.status_code == 303,
        )
        link = mails.link(rf"@{self.handle} .*\n(?:.*\n)*?({re.escape(SITE)}/\S+)")
        path = link.removeprefix(SITE)
        expect("the address is confirmed", self.browser.submit(path).status_code == 303)
        self.browser.http.cookies.clear()
        self.log_in()

    def log_in(self) -> None:
        answer = self.browser.submit("/login", username=self.handle, password=self.password)
        expect(f"login answers 303, not {answer.status_code}", answer.status_code == 303)
        expect("cookies are secure", all(cookie.secure for cookie in self.browser.http.cookies))

    def authorize(self) -> None:
        """Let a program act for the person, by OAuth with an authorization code."""
        http, scopes = self.browser.http, "read write follow"
        program = http.post(
            f"{SITE}/api/v1/apps", timeout=30,
            data={"client_name": "A program", "redirect_uris": REDIRECT, "scopes": scopes},
        ).json()  # fmt: skip
        query = {
            "response_type": "code",
            "client_id": program["client_id"],
            "redirect_uri": REDIRECT,
            "scope": scopes,
        }
        path = f"/oauth/authorize?{urlencode(query)}"
        [code] = re.findall(r'id="code">([^<]+)<', self.browser.submit(path, allow="1").text)
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT,
                  "client_id": program["client_id"], "client_secret": program["client_secret"]}  # fmt: skip
        token = http.post(f"{SITE}/oauth/token", data=fields, timeout=30).json()["access_token"]
        self.headers = {"Authorization": f"Bearer {token}"}

    def call(self, path: str, **fields: Any) -> Any:
        """The JSON of a request by the program; with fields it is a POST."""
        files = {"file": fields.pop("file")} if "file" in fields else None
        method = "POST" if fields or files or path.endswith("follow") else "GET"
        answer = requests.request(
            method, f"{SITE}{path}", data=fields, files=files, headers=self.headers, timeout=30,
            verify=self.browser.http.verify,
        )  # fmt: skip
        expect(
            f"{path} answers 200, not {answer.status_code}: {answer.text[:300]}",
            answer.status_code == 200,
        )
        return answer.json()


def flow(project: Project, say: Say) -> None:
    """All steps, each announced to `say`. Raises FlowFailed."""
    mails = Mailbox()
    author, reader = Person(project, "wren"), Person(project, "robin")
    try:
        say("sign up, confirm the address, log in; authorize a program")
        for person in (author, reader):
            person.sign_up(mails)
            person.authorize()
    finally:
        mails.close()
    say("follow, publish a post with a picture, read it at home, hear it on a stream")
    _files(author, _published(project, author, reader))
    say("staff open the admin, with a second factor")
    _admin(project)
    say("health and metrics")
    _figures(project)


def _published(project: Project, author: Person, reader: Person) -> Any:
    """A post with a picture that has reached a follower."""
    author_id = author.call("/api/v1/accounts/verify_credentials")["id"]
    reader.call(f"/api/v1/accounts/{author_id}/follow")
    with _heard(project, reader) as heard:
        media = author.call("/api/v2/media", file=("wall.png", _picture(), "image/png"))
        fields = {"status": "Good morning.", "media_ids[]": media["id"]}
        post = author.call("/api/v1/statuses", **fields)
        wait("home lacks the post", lambda: post["id"] in _home(reader))
        expect("the page has it too", post["id"] in reader.browser.get("/home").text)
        wait("the stream lacks the post", lambda: post["id"] in heard)
    return post


def _home(person: Person) -> list[str]:
    return [one["id"] for one in person.call("/api/v1/timelines/home")]


def _files(person: Person, post: Any) -> None:
    """Pictures and static files come with the headers that let browsers keep them."""
    picture = person.browser.get(post["media_attachments"][0]["url"].removeprefix(SITE))
    expect(f"the picture answers 200, not {picture.status_code}", picture.status_code == 200)
    expect("the picture is one", Image.open(BytesIO(picture.content)).size[0] > 0)
    expect("browsers keep it", _max_age(picture) > 0)
    page = person.browser.get("/public").text
    [path, *_rest] = re.findall(r'href="(/static/css/[^"]+)"', page)
    sheet = person.browser.get(path)
    expect(f"{path} answers 200, not {sheet.status_code}", sheet.status_code == 200)
    expect(
        f"{path} is kept for a year",
        _max_age(sheet) >= YEAR and "immutable" in sheet.headers["Cache-Control"],
    )


def _admin(project: Project) -> None:
    staff = Person(project, "rook")
    project.manage("create_user", staff.handle, "--password", staff.password, "--staff")
    staff.log_in()
    page = staff.browser.get("/admin/", allow_redirects=False)
    expect("without a second factor the admin stays closed", page.status_code in (302, 303))
    app = "/settings/security/app"
    staff.browser.submit(app, password=staff.password)
    [secret] = re.findall(r'id="secret">([A-Z2-7 ]+)<', staff.browser.get(f"{app}/code").text)
    code = totp(base64.b32decode(secret.replace(" ", "")))
    staff.browser.submit(f"{app}/code", code=f"{code:06d}")
    expect(
        "the admin opens", staff.browser.get("/admin/", allow_redirects=False).status_code == 200
    )


def _figures(project: Project) -> None:
    visitor = Browser(project)
    ready = visitor.get("/healthz/ready")
    expect(f"the site is ready, without details: {ready.text}", ready.json() == {"status": "ready"})
    expect("/metrics is not for everybody", visitor.get("/metrics").status_code == 403)
    token = {"Authorization": f"Bearer {project.env['METRICS_TOKEN']}"}
    expect("/metrics is for the token", visitor.get("/metrics", headers=token).status_code == 200)


@contextmanager
def _heard(project: Project, person: Person) -> Iterator[set[str]]:
    """The ids of posts that arrive on a person's stream, which is open from the beginning."""
    context = ssl.create_default_context(cafile=str(project.certificate))
    connection = HTTPSConnection(DOMAIN, timeout=STREAM_SECONDS, context=context)
    connection.request("GET", "/api/v1/streaming/user", headers=person.headers)
    answer = connection.getresponse()
    expect(f"the stream opens (it answers {answer.status})", answer.status == 200)
    found: set[str] = set()

    def listen() -> None:
        try:
            while line := answer.readline():
                if line.startswith(b"data: {"):
                    found.add(str(json.loads(line.removeprefix(b"data: ")).get("id")))
        except (OSError, HTTPException, ValueError, AttributeError):
            return  # it was closed

    threading.Thread(target=listen, daemon=True).start()
    try:
        yield found
    finally:
        connection.close()


def _errors(page: requests.Response) -> str:
    """What the form on a page says is wrong, for example that a handle is taken."""
    return " ".join(re.findall(r'class="errorlist[^>]*>\s*<li>(.*?)</li>', page.text, re.DOTALL))


def _picture() -> bytes:
    file = BytesIO()
    Image.linear_gradient("L").convert("RGB").resize((1200, 800)).save(file, "PNG")
    return file.getvalue()


def _max_age(answer: requests.Response) -> int:
    found = re.search(r"max-age=(\d+)", answer.headers.get("Cache-Control", ""))
    return int(found[1]) if found else 0


def wait(failure: str, condition: Callable[[], Any], seconds: float = WAIT_SECONDS) -> Any:
    """The first true result. Raises FlowFailed if there is none in time."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise FlowFailed(f"{failure} within {seconds:.0f} s")
        time.sleep(0.3)
    return found


def expect(what: str, holds: bool) -> None:  # noqa: FBT001 -- the condition
    if not holds:
        raise FlowFailed(f"not so: {what}")
