"""The Redis functions of rate limits."""

from pathlib import Path

from config.redis.functions import Library

LIBRARY = Library.of_folder("ratelimit", Path(__file__).parent)
