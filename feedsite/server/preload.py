"""The imports that all processes of a site under `./run` share. They are done once, before the processes are forked.

Nothing in this module may connect to a server or start a thread: neither survives a fork.
"""

# ruff: noqa: F401 -- imported for the forked processes

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedsite.settings")
django.setup()

import celery.apps.beat
import celery.apps.worker
import celery.bin.celery
import celery.concurrency.prefork
import granian.server.mp

import apps.streaming.server
import feedsite.server.handler
import feedsite.urls
from feedsite.celery import app
from feedsite.templates import load_all

load_all()
app.loader.import_default_modules()
