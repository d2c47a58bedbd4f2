"""A client of the official Python SDK that a test drives: python client.py."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import mcp_types as types
from driver import Driver, Json
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

# A client that is pinned to 2026-07-28 knows nothing of the server: `auto` asks for it first.
MODES = {"legacy": "legacy", "modern": "auto"}
ANSWERS: dict[str, TypeAdapter[Any]] = {
    "sampling/createMessage": TypeAdapter(types.CreateMessageResult),
    "elicitation/create": TypeAdapter(types.ElicitResult),
    "roots/list": TypeAdapter(types.ListRootsResult),
}


def reference(ref: Json) -> Any:
    kind = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
    return kind.model_validate(ref)


def plain(model: Any) -> Json:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


class PythonClient:
    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.client: Client
        self.level: str | None = None
        # A client is left by the task that entered it.
        self.closing = asyncio.Event()
        self.owner: asyncio.Task[None] | None = None
        self.listening: dict[str, tuple[asyncio.Event, asyncio.Task[None]]] = {}

    # What the server asks, the test answers.

    async def asked(self, method: str, params: Any) -> Any:
        answer = await self.driver.ask(method, {} if params is None else plain(params))
        return ANSWERS[method].validate_python(answer)

    async def sampling(self, _context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        return await self.asked("sampling/createMessage", params)

    async def elicitation(self, _context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return await self.asked("elicitation/create", params)

    async def roots(self, _context: Any) -> types.ListRootsResult:
        return await self.asked("roots/list", None)

    async def message(self, message: Any) -> None:
        if isinstance(message, Exception):
            self.driver.report("fault", {"message": f"{type(message).__name__}: {message}"})
        elif not isinstance(message, types.ProgressNotification):
            self.driver.report("notice", plain(message))

    def target(self, params: Json) -> Any:
        if "command" in params:
            command, *args = params["command"]
            return StdioServerParameters(command=command, args=args)
        return sse_client(params["url"]) if params["transport"] == "sse" else params["url"]

    def create(self, params: Json) -> Any:
        return Client(
            self.target(params),
            mode=MODES[params["era"]],
            client_info=types.Implementation(name="interop", version="1.0.0"),
            sampling_callback=self.sampling,
            elicitation_callback=self.elicitation,
            list_roots_callback=self.roots,
            message_handler=self.message,
        )

    async def connect(self, params: Json) -> Json:
        connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def own() -> None:
            try:
                async with AsyncExitStack() as stack:
                    self.client = await stack.enter_async_context(self.create(params))
                    connected.set_result(None)
                    await self.closing.wait()
            except BaseException as error:  # noqa: BLE001 - it belongs to the one who connects
                if connected.done():
                    raise
                connected.set_exception(error)

        self.owner = asyncio.create_task(own())
        await connected
        client = self.client
        return {
            "revision": client.protocol_version,
            "serverInfo": plain(client.server_info) if client.server_info else {},
            "capabilities": plain(client.server_capabilities),
            "instructions": client.instructions,
        }

    async def close(self) -> None:
        for key in list(self.listening):
            await self.unlisten(key)
        self.closing.set()
        if self.owner:
            await self.owner

    @property
    def modern(self) -> bool:
        return self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    # Subscriptions: streams without a session, requests in a session.

    def listen_for(self, **wanted: Any) -> Any:
        return self.client.listen(**wanted)

    async def listen(self, key: str, **wanted: Any) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()

        async def follow() -> None:
            # The events also reach the message handler, so nothing is done with them here.
            try:
                async with self.listen_for(**wanted):
                    ready.set_result(None)
                    await stop.wait()
            except BaseException as error:  # noqa: BLE001
                if ready.done():
                    raise
                ready.set_exception(error)

        self.listening[key] = (stop, asyncio.create_task(follow()))
        await ready

    async def unlisten(self, key: str) -> None:
        stop, task = self.listening.pop(key)
        stop.set()
        await task

    def progress(self, number: int) -> Any:
        async def progress(progress: float, total: float | None, message: str | None) -> None:
            report = {"id": number, "progress": progress, "total": total, "message": message}
            self.driver.report("progress", {key: value for key, value in report.items() if value is not None})

        return progress

    @property
    def meta(self) -> Any:
        return {"io.modelcontextprotocol/logLevel": self.level} if self.modern and self.level else None

    async def call_tool(self, params: Json, number: int) -> Any:
        arguments = params.get("arguments") or {}
        progress = self.progress(number)
        return await self.client.call_tool(params["name"], arguments, progress_callback=progress, meta=self.meta)

    async def handle(self, method: str, params: Json, number: int) -> Json | None:
        if method == "connect":
            return await self.connect(params)
        if method == "close":
            return await self.close()
        client = self.client
        match method:
            case "tools/list":
                return plain(await client.list_tools())
            case "tools/call":
                return plain(await self.call_tool(params, number))
            case "resources/list":
                return plain(await client.list_resources())
            case "resources/templates/list":
                return plain(await client.list_resource_templates())
            case "resources/read":
                return plain(await client.read_resource(params["uri"]))
            case "prompts/list":
                return plain(await client.list_prompts())
            case "prompts/get":
                return plain(await client.get_prompt(params["name"], params.get("arguments")))
            case "completion/complete":
                return plain(await client.complete(reference(params["ref"]), params["argument"]))
            case "alive":
                await (client.session.discover() if self.modern else client.send_ping())
            case "setLevel":
                self.level = params["level"]
                if not self.modern:
                    await client.set_logging_level(params["level"])
            case "subscribe":
                if self.modern:
                    await self.listen(params["uri"], resource_subscriptions=[params["uri"]])
                else:
                    await client.session.subscribe_resource(params["uri"])
            case "unsubscribe":
                if self.modern:
                    await self.unlisten(params["uri"])
                else:
                    await client.session.unsubscribe_resource(params["uri"])
            case "followLists":
                if self.modern:
                    await self.listen("lists", tools_list_changed=True, resources_list_changed=True)
            case "unfollowLists":
                if self.modern:
                    await self.unlisten("lists")
            case "rootsChanged":
                if not self.modern:
                    await client.session.send_roots_list_changed()
            case "request":
                request = types.Request[Json, str](method=params["method"], params=params.get("params") or {})
                return await client.session.send_request(request, TypeAdapter(Json))
            case _:
                raise ValueError(f"The driver has no {method}")
        return None


async def main(create: Any = PythonClient) -> None:
    driver = Driver()
    await driver.run(create(driver).handle)


if __name__ == "__main__":
    asyncio.run(main())
