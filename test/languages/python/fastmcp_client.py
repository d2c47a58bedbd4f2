"""The client of FastMCP that a test drives: python fastmcp_client.py."""

import asyncio
from typing import Any

import mcp_types as types
from client import MODES, PythonClient, main, plain, reference
from driver import Json
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from mcp.client.subscriptions import listen


class FastClient(PythonClient):
    async def sampled(self, _messages: Any, params: types.CreateMessageRequestParams, _context: Any) -> Any:
        return await self.asked("sampling/createMessage", params)

    async def elicited(self, _message: str, _response_type: Any, params: Any, _context: Any) -> Any:
        return await self.asked("elicitation/create", params)

    async def rooted(self, _context: Any) -> list[types.Root]:
        return (await self.asked("roots/list", None)).roots

    def target(self, params: Json) -> Any:
        if "command" in params:
            command, *args = params["command"]
            return StdioTransport(command=command, args=args, keep_alive=False)
        return (SSETransport if params["transport"] == "sse" else StreamableHttpTransport)(params["url"])

    def create(self, params: Json) -> Any:
        return Client(
            self.target(params),
            mode=MODES[params["era"]],
            client_info=types.Implementation(name="interop", version="1.0.0"),
            sampling_handler=self.sampled,
            elicitation_handler=self.elicited,
            roots=self.rooted,
            message_handler=self.message,
        )

    def listen_for(self, **wanted: Any) -> Any:
        # FastMCP has no subscriptions of its own. Its session, which is that of the official SDK, has them.
        return listen(self.client.session, **wanted)

    async def call_tool(self, params: Json, number: int) -> Any:
        arguments = params.get("arguments") or {}
        progress = self.progress(number)
        return await self.client.call_tool_mcp(params["name"], arguments, progress_handler=progress, meta=self.meta)

    async def handle(self, method: str, params: Json, number: int) -> Json | None:
        match method:
            case "tools/list":
                return plain(await self.client.list_tools_mcp())
            case "resources/list":
                return plain(await self.client.list_resources_mcp())
            case "resources/templates/list":
                return plain(await self.client.list_resource_templates_mcp())
            case "resources/read":
                return plain(await self.client.read_resource_mcp(params["uri"]))
            case "prompts/list":
                return plain(await self.client.list_prompts_mcp())
            case "prompts/get":
                return plain(await self.client.get_prompt_mcp(params["name"], params.get("arguments")))
            case "completion/complete":
                return plain(await self.client.complete_mcp(reference(params["ref"]), params["argument"]))
            case "rootsChanged" if not self.modern:
                await self.client.send_roots_list_changed()
                return None
            case "setLevel" if not self.modern:
                await self.client.set_logging_level(params["level"])
                return None
            case "alive" if not self.modern:
                await self.client.ping()
                return None
        return await super().handle(method, params, number)


if __name__ == "__main__":
    asyncio.run(main(FastClient))
