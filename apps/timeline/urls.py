"""Routes of the timeline app: pages for people, endpoints for programs."""

from django.urls import URLPattern

pages: list[URLPattern] = []

endpoints: list[URLPattern] = []
