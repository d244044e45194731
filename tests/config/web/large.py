"""An ASGI application whose answers are larger than all buffers on the way."""

PIECE = b"x" * 1_000_000


async def application(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    body = PIECE * 32 if scope["path"] == "/whole" else b""
    if scope["path"] == "/pieces":
        for _ in range(32):
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
    await send({"type": "http.response.body", "body": body, "more_body": False})
