"""Lets a test drive a client: JSON-RPC over stdin and stdout, in both directions. See driver.ts for the methods."""

import asyncio
import itertools
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import MCPError

Json = dict[str, Any]


class Driver:
    """The end of the client. The test sends requests; the client reports notifications, and asks what it is asked."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Json]] = {}
        self._running: dict[int, asyncio.Task[None]] = {}

    def send(self, message: Json) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def report(self, method: str, params: Json) -> None:
        self.send({"method": method, "params": params})

    async def ask(self, method: str, params: Json) -> Json:
        """What the test answers to a question of the server."""
        number = next(self._ids)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        self.send({"id": number, "method": method, "params": params})
        return await answer

    async def _run(self, number: int, call: Awaitable[Json | None]) -> None:
        try:
            self.send({"id": number, "result": await call or {}})
        except MCPError as error:
            fields = {"code": error.code, "message": error.message, "data": error.data}
            self.send({"id": number, "error": fields})
        except asyncio.CancelledError:
            self.send({"id": number, "error": {"code": 0, "message": "The call was cancelled"}})
        except BaseException as error:  # noqa: BLE001 - whatever the client raises, the test sees it
            self.send({"id": number, "error": {"code": 0, "message": f"{type(error).__name__}: {error}"}})
        finally:
            self._running.pop(number, None)

    async def run(self, handle: Callable[[str, Json, int], Awaitable[Json | None]]) -> None:
        """Handles requests until stdin ends."""
        reader = asyncio.StreamReader(limit=2**24)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            message = json.loads(line)
            number = message.get("id")
            if "method" not in message:
                self._asked.pop(number).set_result(message["result"])
            elif number is None:
                if task := self._running.get(message["params"]["id"]):
                    task.cancel()
            else:
                call = handle(message["method"], message.get("params") or {}, number)
                self._running[number] = asyncio.create_task(self._run(number, call))
