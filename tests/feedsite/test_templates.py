"""How templates are loaded: all at the start of a process, or as they change."""

import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.template import engines

from feedsite import templates
from feedsite.settings import TEMPLATES
from runner.checkout import ROOT


@pytest.fixture
def folder(tmp_path, settings):
    """A folder of templates in place of the site's."""
    settings.TEMPLATES = [{**TEMPLATES[0], "DIRS": [tmp_path]}]
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/base.html").write_text("first {% block words %}{% endblock %}")
    (tmp_path / "page.html").write_text(
        "{% extends 'inner/base.html' %}{% block words %}edition{% endblock %}"
    )
    return tmp_path


def page():
    return engines["django"].get_template("page.html").render()


def rewrite(folder):
    (folder / "page.html").write_text("{% load no_such_tags %}")
    (folder / "inner/base.html").write_text("second {% block words %}{% endblock %}")


def test_an_edit_after_the_start_is_not_mixed_with_the_old_code(folder):
    templates.load_all()
    rewrite(folder)
    assert page() == "first edition"


def test_what_is_wrong_with_a_template_is_said_at_the_start(folder):
    rewrite(folder)
    with pytest.raises(Exception, match="no_such_tags"):
        templates.load_all()


@pytest.mark.long
@pytest.mark.parametrize(
    "module", ["feedsite.server.preload", pytest.param("feedsite.rsgi", marks=pytest.mark.gate)]
)
def test_the_servers_have_every_template_when_they_start(module):
    code = (
        f"import {module}; from django.template import engines;"
        "print(len(engines['django'].engine.template_loaders[0].get_template_cache))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    (folder,) = settings.TEMPLATES[0]["DIRS"]
    assert int(done.stdout) >= len([path for path in folder.rglob("*.*") if path.is_file()])


@pytest.mark.long
def test_with_debug_every_page_reads_them_anew():
    code = "from feedsite.settings import TEMPLATES; print(TEMPLATES[0]['OPTIONS']['loaders'][0])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT), "DEBUG": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "feedsite.templates.Loader"
