"""The Redis functions of sessions, presence and visits."""

from pathlib import Path

from config.redis.functions import Library

LIBRARY = Library.of_folder("sessions", Path(__file__).parent)
