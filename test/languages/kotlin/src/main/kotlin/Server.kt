@file:JvmName("Server")

import io.ktor.server.application.Application
import io.ktor.server.cio.CIO
import io.ktor.server.engine.embeddedServer
import io.modelcontextprotocol.kotlin.sdk.server.ClientConnection
import io.modelcontextprotocol.kotlin.sdk.server.Server
import io.modelcontextprotocol.kotlin.sdk.server.ServerOptions
import io.modelcontextprotocol.kotlin.sdk.server.StdioServerTransport
import io.modelcontextprotocol.kotlin.sdk.server.mcp
import io.modelcontextprotocol.kotlin.sdk.server.mcpStatelessStreamableHttp
import io.modelcontextprotocol.kotlin.sdk.server.mcpStreamableHttp
import io.modelcontextprotocol.kotlin.sdk.shared.currentRequestHandlerExtra
import io.modelcontextprotocol.kotlin.sdk.types.*
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Job
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import kotlinx.io.asSink
import kotlinx.io.asSource
import kotlinx.io.buffered
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonObjectBuilder
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.decodeFromJsonElement
import kotlinx.serialization.json.int
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import kotlinx.serialization.json.putJsonObject

/** The feature server with the official Kotlin SDK: Server --stdio | --http | --stateless | --sse. */
val cancelled = AtomicInteger()

/** The sessions that have subscribed to a resource. The SDK reports an update only when a resource is added or removed. */
val subscribers = ConcurrentHashMap<String, MutableSet<String>>()

/** The types of the SDK are those of the specification. */
inline fun <reified T> typed(build: JsonObjectBuilder.() -> Unit): T =
    McpJson.decodeFromJsonElement<T>(buildJsonObject(build))

inline fun <reified T> write(value: T): String = McpJson.encodeToString(value)

fun text(text: String) = CallToolResult(listOf(TextContent(text)))

fun JsonObjectBuilder.putSchema(name: String, vararg types: Pair<String, String>) = putJsonObject(name) {
    put("type", "object")
    putJsonObject("properties") { for ((key, type) in types) putJsonObject(key) { put("type", type) } }
    putJsonArray("required") { for ((key) in types) add(JsonPrimitive(key)) }
}

fun JsonObject.word(name: String): String = getValue(name).jsonPrimitive.content
fun JsonObject.number(name: String): Int = getValue(name).jsonPrimitive.int

fun Server.tool(
    name: String,
    vararg types: Pair<String, String>,
    handler: suspend ClientConnection.(JsonObject, CallToolRequest) -> CallToolResult,
) = addTool(typed<Tool> {
    put("name", name)
    putSchema("inputSchema", *types)
}) { request -> handler(request.params.arguments ?: JsonObject(emptyMap()), request) }

suspend fun progress(request: CallToolRequest, step: Int, total: Int? = null) {
    val token: JsonElement = request.params.meta?.json?.get("progressToken") ?: return
    currentRequestHandlerExtra()?.sendNotification(ProgressNotification(typed {
        put("progressToken", token)
        put("progress", step)
        if (total != null) put("total", total)
    }))
}

fun Server.addTools() {
    addTool(typed<Tool> {
        put("name", "add")
        putSchema("inputSchema", "a" to "integer", "b" to "integer")
        putSchema("outputSchema", "result" to "integer")
    }) { request ->
        val args = request.params.arguments!!
        val sum = buildJsonObject { put("result", args.number("a") + args.number("b")) }
        CallToolResult(content = listOf(TextContent(sum.toString())), structuredContent = sum)
    }
    tool("count", "to" to "integer") { args, request ->
        val to = args.number("to")
        for (step in 1..to) {
            progress(request, step, to)
            delay(20)
        }
        text("counted to $to")
    }
    tool("wait") { _, request ->
        progress(request, 1)
        try {
            awaitCancellation()
        } catch (error: CancellationException) {
            cancelled.incrementAndGet()
            throw error
        }
    }
    tool("cancellations") { _, _ -> text("${cancelled.get()}") }
    tool("log", "level" to "string", "data" to "string") { args, _ ->
        sendLoggingMessage(LoggingMessageNotification(typed {
            put("level", args.getValue("level"))
            put("data", args.getValue("data"))
            put("logger", "server")
        }))
        text("logged")
    }
    tool("grow", "name" to "string") { args, _ ->
        val name = args.word("name")
        tool(name) { _, _ -> text(name) }
        text("grown")
    }
    tool("touch", "uri" to "string") { args, _ ->
        val uri = args.word("uri")
        val update = ResourceUpdatedNotification(typed { put("uri", uri) })
        for (session in subscribers[uri].orEmpty()) if (session in sessions) sendResourceUpdated(session, update)
        text("touched")
    }
    tool("sample", "prompt" to "string") { args, _ ->
        text(write(createMessage(CreateMessageRequest(typed {
            putJsonArray("messages") {
                addJsonObject {
                    put("role", "user")
                    putJsonObject("content") {
                        put("type", "text")
                        put("text", args.getValue("prompt"))
                    }
                }
            }
            put("maxTokens", 100)
        }))))
    }
    tool("ask") { _, _ ->
        text(write(createElicitation(ElicitRequest(typed<ElicitRequestFormParams> {
            put("mode", "form")
            put("message", "Who are you?")
            putSchema("requestedSchema", "name" to "string")
        }))))
    }
    tool("visit") { _, _ ->
        text(write(createElicitation(ElicitRequest(typed<ElicitRequestURLParams> {
            put("mode", "url")
            put("message", "Please sign in")
            put("url", "https://example.com/sign-in")
            put("elicitationId", "sign-in-1")
        }))))
    }
    tool("roots") { _, _ -> text(write(listRoots())) }
}

fun read(uri: String): ReadResourceResult = typed {
    putJsonArray("contents") {
        addJsonObject {
            put("uri", uri)
            if (uri == "feature://bytes") {
                put("mimeType", "application/octet-stream")
                put("blob", "AAEC")
            } else {
                put("mimeType", "text/plain")
                put("text", if (uri.startsWith("feature://item/")) "Item ${uri.substring(15)}" else "A text.")
            }
        }
    }
}

fun Server.addOthers() {
    for (name in listOf("fixed", "bytes"))
        addResource("feature://$name", name, "A resource.") { request -> read(request.params.uri) }
    addResourceTemplate("feature://item/{id}", "item") { request, _ -> read(request.params.uri) }
    addPrompt(typed<Prompt> {
        put("name", "greet")
        putJsonArray("arguments") {
            addJsonObject {
                put("name", "name")
                put("required", true)
            }
        }
    }) { request ->
        typed {
            putJsonArray("messages") {
                addJsonObject {
                    put("role", "user")
                    putJsonObject("content") {
                        put("type", "text")
                        put("text", "Greet ${request.params.arguments?.get("name")}.")
                    }
                }
            }
        }
    }
}

/** What the SDK leaves to the handlers of each session. */
fun Server.onSession() = onConnect {
    for ((id, session) in sessions) {
        session.setRequestHandler<CompleteRequest>(Method.Defined.CompletionComplete) { request, _ ->
            val found = listOf("1", "12", "2").filter { it.startsWith(request.params.argument.value) }
            typed<CompleteResult> {
                putJsonObject("completion") {
                    putJsonArray("values") { for (each in found) add(JsonPrimitive(each)) }
                    put("total", found.size)
                    put("hasMore", false)
                }
            }
        }
        session.setRequestHandler<SubscribeRequest>(Method.Defined.ResourcesSubscribe) { request, _ ->
            subscribers.computeIfAbsent(request.params.uri) { ConcurrentHashMap.newKeySet() }.add(id)
            EmptyResult()
        }
        session.setRequestHandler<UnsubscribeRequest>(Method.Defined.ResourcesUnsubscribe) { request, _ ->
            subscribers[request.params.uri]?.remove(id)
            EmptyResult()
        }
    }
}

fun create(): Server {
    val capabilities = typed<ServerCapabilities> {
        putJsonObject("tools") { put("listChanged", true) }
        putJsonObject("resources") {
            put("subscribe", true)
            put("listChanged", true)
        }
        putJsonObject("prompts") { put("listChanged", true) }
        putJsonObject("logging") {}
        putJsonObject("completions") {}
    }
    val server = Server(
        Implementation("kotlin", "1.0.0"),
        ServerOptions(capabilities),
        "Call a tool to see its feature.",
    )
    server.addTools()
    server.addOthers()
    server.onSession()
    return server
}

/** On a port that the system picks. */
suspend fun serve(path: String, module: Application.() -> Unit) {
    val engine = embeddedServer(CIO, port = 0, host = "127.0.0.1", module = module).start()
    val port = engine.engine.resolvedConnectors().first().port
    System.err.println("listening on http://127.0.0.1:$port$path")
    awaitCancellation()
}

fun main(args: Array<String>) = runBlocking {
    val server = create()
    when (args[0]) {
        "--stdio" -> {
            val transport =
                StdioServerTransport(System.`in`.asSource().buffered(), System.out.asSink().buffered())
            val closed = Job()
            server.createSession(transport).onClose { closed.complete() }
            closed.join()
        }
        "--sse" -> serve("/") { mcp { server } }
        "--http" -> serve("/mcp") { mcpStreamableHttp { server } }
        else -> serve("/mcp") { mcpStatelessStreamableHttp { server } }
    }
}
