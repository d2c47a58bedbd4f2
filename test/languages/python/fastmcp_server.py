"""The feature server with FastMCP: python fastmcp_server.py --stdio | --http | --stateless | --sse."""

import asyncio
import json
import socket
import sys
from typing import Any

import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.tools import Tool
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

server = FastMCP("fastmcp", version="1.0.0", instructions="Call a tool to see its feature.")
cancelled = 0


class Sum(BaseModel):
    result: int


@server.tool
def add(a: int, b: int) -> Sum:
    return Sum(result=a + b)


@server.tool(output_schema=None)
async def count(to: int, ctx: Context) -> str:
    for step in range(1, to + 1):
        await ctx.report_progress(step, to)
        await asyncio.sleep(0.02)
    return f"counted to {to}"


@server.tool(output_schema=None)
async def wait(ctx: Context) -> str:
    global cancelled
    await ctx.report_progress(1)
    try:
        await asyncio.Event().wait()
    finally:
        cancelled += 1
    return "never seen"


@server.tool(output_schema=None)
def cancellations() -> str:
    return str(cancelled)


@server.tool(output_schema=None)
async def log(level: types.LoggingLevel, data: str, ctx: Context) -> str:
    await ctx.log(data, level)
    return "logged"


@server.tool(output_schema=None)
async def grow(name: str, ctx: Context) -> str:
    def grown() -> str:
        return name

    server.add_tool(Tool.from_function(grown, name=name))
    await ctx.send_notification(types.ToolListChangedNotification())
    return "grown"


# FastMCP has no subscriptions.
@server.tool(output_schema=None)
async def touch(uri: str, ctx: Context) -> str:
    params = types.ResourceUpdatedNotificationParams(uri=uri)
    await ctx.send_notification(types.ResourceUpdatedNotification(params=params))
    return "touched"


async def question(ctx: Context, request: Any, answer_type: Any) -> Any:
    """Asks the client: with a request in a session, or with a result that the client answers with a second call."""
    if ctx.request_context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answers = ctx.input_responses or {}
        if "question" not in answers:
            return types.InputRequiredResult(input_requests={"question": request})
        answer = answers["question"]
    else:
        related = ServerMessageMetadata(related_request_id=ctx.request_id)
        answer = await ctx.session.send_request(request, answer_type, metadata=related)
    return json.dumps(answer.model_dump(by_alias=True, mode="json", exclude_none=True), separators=(",", ":"))


@server.tool(output_schema=None)
async def sample(prompt: str, ctx: Context) -> Any:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    return await question(ctx, types.CreateMessageRequest(params=params), types.CreateMessageResult)


@server.tool(output_schema=None)
async def ask(ctx: Context) -> Any:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    params = types.ElicitRequestFormParams(message="Who are you?", requested_schema=schema)
    return await question(ctx, types.ElicitRequest(params=params), types.ElicitResult)


@server.tool(output_schema=None)
async def visit(ctx: Context) -> Any:
    params = types.ElicitRequestURLParams(
        message="Please sign in", url="https://example.com/sign-in", elicitation_id="sign-in-1"
    )
    return await question(ctx, types.ElicitRequest(params=params), types.ElicitResult)


@server.tool(output_schema=None)
async def roots(ctx: Context) -> Any:
    return await question(ctx, types.ListRootsRequest(), types.ListRootsResult)


@server.resource("feature://fixed", mime_type="text/plain")
def fixed() -> str:
    return "A text."


@server.resource("feature://bytes", mime_type="application/octet-stream")
def octets() -> bytes:
    return b"\x00\x01\x02"


@server.resource("feature://item/{id}", mime_type="text/plain")
def item(id: str) -> str:
    return f"Item {id}"


@server.prompt
def greet(name: str) -> str:
    return f"Greet {name}."


@server.completion
async def complete(ref: Any, argument: Any, context: Any) -> list[str]:
    values = ["1", "12", "2"] if isinstance(ref, types.ResourceTemplateReference) else ["Ada", "Alan"]
    return [value for value in values if value.startswith(argument.value)]


async def serve() -> None:
    if "--stdio" in sys.argv:
        return await server.run_stdio_async(show_banner=False, log_level="ERROR")
    # A port that the system picks.
    listener = socket.create_server(("127.0.0.1", 0))
    sse = "--sse" in sys.argv
    path = "/sse" if sse else "/mcp"
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}{path}", file=sys.stderr, flush=True)
    await server.run_http_async(
        show_banner=False,
        transport="sse" if sse else "http",
        path=path,
        log_level="ERROR",
        stateless_http="--stateless" in sys.argv,
        sockets=[listener],
        uvicorn_config={"timeout_graceful_shutdown": 1},
    )


if __name__ == "__main__":
    asyncio.run(serve())
