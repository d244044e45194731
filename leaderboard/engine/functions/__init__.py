"""The leaderboard's Redis functions; see README.md beside this file."""

from pathlib import Path

from config.redis.functions import Library

LIBRARY = Library.of_folder("leaderboard", Path(__file__).parent)
