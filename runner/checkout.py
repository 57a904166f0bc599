"""Paths in the checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANAGE = ROOT / "manage.py"
REQUIREMENTS = ROOT / "requirements.txt"
DEVELOPMENT_REQUIREMENTS = ROOT / "requirements-dev.txt"
DEFAULT_DATA_DIR = ROOT / "var"
DEFAULT_VENV = ROOT / ".venv"
