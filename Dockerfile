# Rostrum's image: web server and worker share it; compose.yaml shows both.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN useradd --create-home --uid 1000 rostrum
WORKDIR /srv/rostrum

COPY requirements.txt .
RUN pip install -r requirements.txt

COPY manage.py pyproject.toml ./
COPY config config
COPY ratelimit ratelimit
COPY sessions_app sessions_app
COPY leaderboard leaderboard
COPY templates templates
COPY locale locale
COPY static static
RUN mkdir var && chown rostrum:rostrum var

USER rostrum
# Hashed and compressed once, not at every start.
RUN python manage.py serve --build && rm -f var/secret_key

ENV DEBUG=false
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD python -c "import socket; s = socket.create_connection(('127.0.0.1', 8000), 2); s.sendall(b'GET /healthz HTTP/1.0\r\n\r\n'); raise SystemExit(not s.recv(5))"
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--no-worker"]
