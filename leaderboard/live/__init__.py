"""From one Redis subscription per process to every open page.

`hub.py` subscribes, `feed.py` keeps a board's topics, `topic.py` the newest picture and the last
steps, `boards.py` draws a board, `shared.py` reads it once for all topics, and `lane.py` serves
`/live/boards/<slug>/`.
"""
