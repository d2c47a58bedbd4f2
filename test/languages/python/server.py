"""The feature server with the official Python SDK: python server.py --stdio | --http | --stateless | --sse."""

import asyncio
import json
import socket
import sys
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

server = MCPServer("python", version="1.0.0", instructions="Call a tool to see its feature.", log_level="ERROR")
low = server._lowlevel_server
cancelled = 0


class Sum(BaseModel):
    result: int


@server.tool()
def add(a: int, b: int) -> Sum:
    return Sum(result=a + b)


@server.tool(structured_output=False)
async def count(to: int, ctx: Context) -> str:
    for step in range(1, to + 1):
        await ctx.report_progress(step, to)
        await asyncio.sleep(0.02)
    return f"counted to {to}"


@server.tool(structured_output=False)
async def wait(ctx: Context) -> str:
    global cancelled
    await ctx.report_progress(1)
    try:
        await asyncio.Event().wait()
    finally:
        cancelled += 1
    return "never seen"


@server.tool(structured_output=False)
def cancellations() -> str:
    return str(cancelled)


# The SDK keeps no level for handshake sessions: a server that offers `logging/setLevel` filters by itself.
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
session_levels: dict[str | None, str] = {}


def session_of(ctx: Any) -> str | None:
    """The session of a request: a header over Streamable HTTP, a parameter over HTTP+SSE, none over stdio."""
    if ctx.request is None:
        return None
    return ctx.request.headers.get("mcp-session-id") or ctx.request.query_params.get("session_id")


async def set_level(ctx: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
    session_levels[session_of(ctx)] = params.level
    return types.EmptyResult()


low.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)


def modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


@server.tool(structured_output=False)
async def log(level: types.LoggingLevel, data: str, ctx: Context) -> str:
    wanted = session_levels.get(session_of(ctx.request_context), "debug")
    if modern(ctx) or LEVELS.index(level) >= LEVELS.index(wanted):
        await ctx.log(level, data)
    return "logged"


@server.tool(structured_output=False)
async def grow(name: str, ctx: Context) -> str:
    server.add_tool(lambda: name, name=name, description="Was added while the server ran")
    if modern(ctx):
        await ctx.notify_tools_changed()
    else:
        await ctx.session.send_tool_list_changed()
    return "grown"


subscribed: set[tuple[str | None, str]] = set()


async def subscribe(ctx: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
    subscribed.add((session_of(ctx), params.uri))
    return types.EmptyResult()


async def unsubscribe(ctx: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    subscribed.discard((session_of(ctx), params.uri))
    return types.EmptyResult()


low.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribe)
low.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, unsubscribe)


@server.tool(structured_output=False)
async def touch(uri: str, ctx: Context) -> str:
    if modern(ctx):
        await ctx.notify_resource_updated(uri)
    elif (session_of(ctx.request_context), uri) in subscribed:
        await ctx.session.send_resource_updated(uri)
    return "touched"


async def ask(ctx: Context, request: Any, answer_type: Any) -> Any:
    """Asks the client: with a request in a session, or with a result that the client answers with a second call."""
    if modern(ctx):
        answers = ctx.input_responses or {}
        if "question" not in answers:
            return types.InputRequiredResult(input_requests={"question": request})
        answer = answers["question"]
    else:
        related = ServerMessageMetadata(related_request_id=ctx.request_context.request_id)
        answer = await ctx.session.send_request(request, answer_type, metadata=related)
    return json.dumps(answer.model_dump(by_alias=True, mode="json", exclude_none=True), separators=(",", ":"))


@server.tool(structured_output=False)
async def sample(prompt: str, ctx: Context) -> Any:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    return await ask(ctx, types.CreateMessageRequest(params=params), types.CreateMessageResult)


@server.tool(name="ask", structured_output=False)
async def ask_form(ctx: Context) -> Any:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    params = types.ElicitRequestFormParams(message="Who are you?", requested_schema=schema)
    return await ask(ctx, types.ElicitRequest(params=params), types.ElicitResult)


@server.tool(structured_output=False)
async def visit(ctx: Context) -> Any:
    params = types.ElicitRequestURLParams(
        message="Please sign in", url="https://example.com/sign-in", elicitation_id="sign-in-1"
    )
    return await ask(ctx, types.ElicitRequest(params=params), types.ElicitResult)


@server.tool(structured_output=False)
async def roots(ctx: Context) -> Any:
    return await ask(ctx, types.ListRootsRequest(), types.ListRootsResult)


@server.resource("feature://fixed", mime_type="text/plain")
def fixed() -> str:
    return "A text."


@server.resource("feature://bytes", mime_type="application/octet-stream")
def octets() -> bytes:
    return b"\x00\x01\x02"


@server.resource("feature://item/{id}", mime_type="text/plain")
def item(id: str) -> str:
    return f"Item {id}"


@server.prompt()
def greet(name: str) -> str:
    return f"Greet {name}."


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
    values = ["1", "12", "2"] if isinstance(ref, types.ResourceTemplateReference) else ["Ada", "Alan"]
    found = [value for value in values if value.startswith(argument.value)]
    return types.Completion(values=found, total=len(found), has_more=False)


async def serve(app: Any) -> None:
    """Serves an ASGI application on a port that the system picks."""
    listener = socket.create_server(("127.0.0.1", 0))
    path = "/sse" if "--sse" in sys.argv else "/mcp"
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}{path}", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    if "--stdio" in sys.argv:
        asyncio.run(server.run_stdio_async())
    elif "--sse" in sys.argv:
        asyncio.run(serve(server.sse_app()))
    else:
        asyncio.run(serve(server.streamable_http_app(stateless_http="--stateless" in sys.argv)))
