"""Routes of the accounts app: pages for people, endpoints for programs."""

from django.urls import URLPattern

pages: list[URLPattern] = []

endpoints: list[URLPattern] = []
