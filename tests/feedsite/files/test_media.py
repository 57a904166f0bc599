"""Uploaded files as they are served."""

import pytest

from apps.accounts.models import User

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["../settings.py", "..%2f..%2fetc/passwd.png", "/etc/passwd.png", "x.svg", "x.html", "x.png/", "pictures", "%2e%2e/x.png",
                                  "x.PNG.html", "a" * 5000 + ".png", "nowhere.png"])  # fmt: skip
def test_nothing_but_stored_pictures_is_served(client, name):
    assert client.get(f"/media/{name}").status_code in {400, 404}


def test_a_stored_picture_can_be_kept_for_a_year_and_runs_nothing(
    alice, client, settings, tmp_path
):
    settings.MEDIA_ROOT = str(tmp_path)
    (tmp_path / "avatars").mkdir()
    (tmp_path / "avatars/a.png").write_bytes(b"\x89PNG<script>")
    assert client.get("/media/avatars/a.png").status_code == 404  # nobody's
    User.objects.filter(pk=alice.pk).update(avatar="avatars/a.png")
    answer = client.get("/media/avatars/a.png")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png")
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, s-maxage=60, immutable"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert b"".join(answer.streaming_content).startswith(b"\x89PNG")
    answer.close()
