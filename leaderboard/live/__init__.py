"""Telling browsers: from one Redis subscription per process to every open page.

`topic.py` keeps what one kind of viewer saw lately, `hub.py` listens and gathers, `source.py`
reads and renders a board, `lane.py` is the address `/live/boards/<slug>/`.
"""
