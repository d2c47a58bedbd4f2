@file:JvmName("Client")

import io.ktor.client.HttpClient
import io.ktor.client.engine.cio.CIO
import io.ktor.client.plugins.sse.SSE
import io.modelcontextprotocol.kotlin.sdk.client.Client
import io.modelcontextprotocol.kotlin.sdk.client.ClientOptions
import io.modelcontextprotocol.kotlin.sdk.client.SseClientTransport
import io.modelcontextprotocol.kotlin.sdk.client.StdioClientTransport
import io.modelcontextprotocol.kotlin.sdk.client.StreamableHttpClientTransport
import io.modelcontextprotocol.kotlin.sdk.shared.RequestOptions
import io.modelcontextprotocol.kotlin.sdk.shared.Transport
import io.modelcontextprotocol.kotlin.sdk.types.*
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.minutes
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.io.asSink
import kotlinx.io.asSource
import kotlinx.io.buffered
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.decodeFromJsonElement
import kotlinx.serialization.json.encodeToJsonElement
import kotlinx.serialization.json.int
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonObject

/**
 * A client of the official Kotlin SDK that a test drives: JSON-RPC over stdin and stdout, in both directions. See
 * driver.ts for the methods.
 */
private val ids = AtomicInteger()
private val asked = ConcurrentHashMap<Int, CompletableDeferred<JsonElement>>()
private val running = ConcurrentHashMap<Int, Job>()
private lateinit var client: Client
private var server: Process? = null
private val NOTHING = JsonObject(emptyMap())

private fun send(vararg fields: Pair<String, JsonElement>) {
    val line = JsonObject(mapOf("jsonrpc" to JsonPrimitive("2.0"), *fields)).toString()
    synchronized(System.out) {
        println(line)
        System.out.flush()
    }
}

private fun report(method: String, params: JsonElement) = send("method" to JsonPrimitive(method), "params" to params)

private inline fun <reified T> json(value: T): JsonObject = McpJson.encodeToJsonElement(value).jsonObject

private inline fun <reified T> typed(value: JsonElement): T = McpJson.decodeFromJsonElement(value)

private suspend inline fun <reified T> ask(method: String, params: JsonObject): T {
    val id = ids.incrementAndGet()
    val answer = CompletableDeferred<JsonElement>()
    asked[id] = answer
    send("id" to JsonPrimitive(id), "method" to JsonPrimitive(method), "params" to params)
    return typed(answer.await())
}

private fun transport(place: JsonObject): Transport {
    val command = place["command"]
    if (command is JsonArray) {
        val child = ProcessBuilder(command.map { it.jsonPrimitive.content })
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start()
        server = child
        return StdioClientTransport(child.inputStream.asSource().buffered(), child.outputStream.asSink().buffered())
    }
    val http = HttpClient(CIO) {
        install(SSE)
        engine { requestTimeout = 0 }
    }
    val url = place.getValue("url").jsonPrimitive.content
    return if (place["transport"]?.jsonPrimitive?.content == "sse") SseClientTransport(http, url)
    else StreamableHttpClientTransport(http, url)
}

private suspend fun setRoots() {
    client.removeRoots(listOf("file:///tmp/project", "file:///tmp/elsewhere"))
    client.addRoots(ask<ListRootsResult>("roots/list", NOTHING).roots)
}

private fun noticed(method: Method) =
    client.setNotificationHandler<Notification>(method) { notification ->
        val params = notification.toJSON().params ?: NOTHING
        report("notice", buildJsonObject {
            put("method", method.value)
            put("params", params)
        })
        CompletableDeferred(Unit)
    }

private suspend fun connect(place: JsonObject): JsonObject {
    val capabilities = buildJsonObject {
        putJsonObject("roots") { put("listChanged", true) }
        putJsonObject("sampling") {}
        putJsonObject("elicitation") {
            putJsonObject("form") {}
            putJsonObject("url") {}
        }
    }
    client = Client(Implementation("interop", "1.0.0"), ClientOptions(typed<ClientCapabilities>(capabilities)))
    client.setRequestHandler<CreateMessageRequest>(Method.Defined.SamplingCreateMessage) { request, _ ->
        ask<CreateMessageResult>("sampling/createMessage", json(request.params))
    }
    client.setRequestHandler<ElicitRequest>(Method.Defined.ElicitationCreate) { request, _ ->
        ask<ElicitResult>("elicitation/create", json(request.params))
    }
    for (method in listOf(
        Method.Defined.NotificationsToolsListChanged,
        Method.Defined.NotificationsPromptsListChanged,
        Method.Defined.NotificationsResourcesListChanged,
        Method.Defined.NotificationsResourcesUpdated,
        Method.Defined.NotificationsMessage,
    )) noticed(method)
    setRoots()
    val transport = transport(place)
    client.connect(transport)
    return buildJsonObject {
        put("revision", LATEST_PROTOCOL_VERSION)
        put("serverInfo", json(client.serverVersion))
        put("capabilities", json(client.serverCapabilities))
        put("instructions", client.serverInstructions)
    }
}

private suspend fun handle(method: String, params: JsonObject, id: Int): JsonElement {
    val options = RequestOptions(timeout = 2.minutes)
    return when (method) {
        "connect" -> connect(params)
        "close" -> {
            client.close()
            server?.waitFor()
            NOTHING
        }
        "tools/list" -> json(client.listTools(options = options))
        "tools/call" -> {
            val watched = RequestOptions(timeout = 2.minutes, onProgress = { progress ->
                report("progress", buildJsonObject {
                    put("id", id)
                    put("progress", progress.progress)
                    progress.total?.let { put("total", it) }
                    progress.message?.let { put("message", it) }
                })
            })
            json(client.callTool(CallToolRequest(typed(params)), watched))
        }
        "resources/list" -> json(client.listResources(options = options))
        "resources/templates/list" -> json(client.listResourceTemplates(ListResourceTemplatesRequest(), options))
        "resources/read" -> json(client.readResource(ReadResourceRequest(typed(params)), options))
        "prompts/list" -> json(client.listPrompts(options = options))
        "prompts/get" -> json(client.getPrompt(GetPromptRequest(typed(params)), options))
        "completion/complete" -> json(client.complete(CompleteRequest(typed(params)), options))
        "alive" -> json(client.ping(options))
        "setLevel" -> json(client.setLoggingLevel(typed(params.getValue("level")), options))
        "subscribe" -> json(client.subscribeResource(SubscribeRequest(typed<SubscribeRequestParams>(params)), options))
        "unsubscribe" -> json(client.unsubscribeResource(UnsubscribeRequest(typed<UnsubscribeRequestParams>(params)), options))
        "followLists", "unfollowLists" -> NOTHING
        "rootsChanged" -> {
            setRoots()
            client.sendRootsListChanged()
            NOTHING
        }
        "request" -> {
            val custom = Method.Custom(params.getValue("method").jsonPrimitive.content)
            json(client.request<EmptyResult>(CustomRequest(custom, null), options))
        }
        else -> throw IllegalArgumentException("The client does not have $method")
    }
}

private fun failure(error: Throwable): JsonObject = buildJsonObject {
    if (error is McpException) {
        put("code", error.code)
        // The SDK puts its own words before those of the peer.
        put("message", error.message)
        put("data", error.data ?: JsonNull)
    } else {
        put("code", 0)
        put("message", if (error is CancellationException) "The call was cancelled" else "$error")
    }
}

private suspend fun run(method: String, params: JsonObject, id: Int) {
    try {
        send("id" to JsonPrimitive(id), "result" to handle(method, params, id))
    } catch (error: Throwable) {
        send("id" to JsonPrimitive(id), "error" to failure(error))
    } finally {
        running.remove(id)
    }
}

fun main(): Unit = runBlocking(Dispatchers.Default) {
    val scope = CoroutineScope(Dispatchers.Default)
    while (true) {
        val message = McpJson.parseToJsonElement(readlnOrNull() ?: break).jsonObject
        val id = message["id"]?.jsonPrimitive?.int
        val method = message["method"]?.jsonPrimitive?.content
        val params = message["params"] as? JsonObject ?: NOTHING
        if (method == null) asked.remove(id)?.complete(message["result"] ?: JsonNull)
        else if (id == null) running[params.getValue("id").jsonPrimitive.int]?.cancel()
        else running[id] = scope.launch { run(method, params, id) }
    }
    exitProcess(0)
}
