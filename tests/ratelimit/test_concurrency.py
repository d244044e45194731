"""Everybody at once against one key: exactly the limit gets through."""

import json
import subprocess
import sys
import textwrap

import pytest

from ratelimit.algorithms import Algorithm
from tests.servers import ON_CLUSTER, OWN_SERVER

PROCESSES, THREADS, TASKS = 4, 16, 4  # 64 threads and 16 tasks in all
LIMIT = 100
CALLS = 3  # by each thread and task: 240 in all

# A window long enough that nothing comes back during the test.
PROGRAM = """
import asyncio, json, sys, threading
import redis, redis.asyncio
from ratelimit.limiter import AsyncLimiter, Limiter
from ratelimit.sentence import parse

port, processes, threads, tasks, calls, limit, on_cluster = map(int, sys.argv[1:8])
policies = json.loads(sys.argv[8])
kinds = (redis.RedisCluster, redis.asyncio.RedisCluster) if on_cluster else (
    redis.Redis, redis.asyncio.Redis)
client = kinds[0](host="127.0.0.1", port=port)
let_through = {name: 0 for name in policies}
lock = threading.Lock()
parsed = {name: parse(name, sentence) for name, sentence in policies.items()}

def count(name, decision):
    if decision:
        with lock:
            let_through[name] += 1

def thread():
    limiter = Limiter(client)
    barrier.wait()
    for _ in range(calls):
        for name, policy in parsed.items():
            count(name, limiter.hit(policy, "everybody"))

async def task(limiter):
    for _ in range(calls):
        for name, policy in parsed.items():
            count(name, await limiter.hit(policy, "everybody"))

async def all_tasks():
    async with kinds[1](host="127.0.0.1", port=port) as client:
        limiter = AsyncLimiter(client)
        await asyncio.gather(*(task(limiter) for _ in range(tasks)))

def loop():
    barrier.wait()
    asyncio.run(all_tasks())

barrier = threading.Barrier(threads + 1)
workers = [threading.Thread(target=thread) for _ in range(threads)]
workers.append(threading.Thread(target=loop))
# All processes begin together, when the last one is ready.
client.incr("ready")
while int(client.get("ready")) < processes:
    pass
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(json.dumps(let_through))
"""


@pytest.mark.xdist_group("ratelimit-concurrency")
def test_exactly_the_limit_gets_through_for_every_algorithm():
    sentences = {
        algorithm.value: f"{LIMIT} at once for 1 hour"
        if algorithm is Algorithm.AT_ONCE
        else f"{LIMIT}/10 days {algorithm.words}"
        for algorithm in Algorithm
    }
    sentences["several"] = f"{LIMIT}/10 days gcra and 1000/20 days sliding log"
    port = OWN_SERVER.ports[0] if ON_CLUSTER else OWN_SERVER.port
    numbers = [port, PROCESSES, THREADS, TASKS, CALLS, LIMIT, int(ON_CLUSTER)]
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), *map(str, numbers)]
    processes = [
        subprocess.Popen([*command, json.dumps(sentences)], stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    totals = dict.fromkeys(sentences, 0)
    for process in processes:
        out, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        for name, number in json.loads(out).items():
            totals[name] += number
    assert totals == dict.fromkeys(sentences, LIMIT)
