import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.*;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * A client of the official Java SDK that a test drives: JSON-RPC over stdin and stdout, in both directions. See
 * driver.ts for the methods.
 */
public class Client {
  static final McpJsonMapper JSON = McpJsonDefaults.getMapper();
  static final PrintStream OUT = System.out;
  static final AtomicInteger ids = new AtomicInteger();
  static final Map<Integer, CompletableFuture<Object>> asked = new ConcurrentHashMap<>();
  static final Map<Integer, Future<?>> running = new ConcurrentHashMap<>();
  // Its consumers get notifications in their order, which those of the synchronous client do not.
  static McpAsyncClient client;

  static synchronized void send(Map<String, Object> message) {
    Map<String, Object> whole = new HashMap<>(message);
    whole.put("jsonrpc", "2.0");
    try {
      OUT.println(JSON.writeValueAsString(whole));
    } catch (Exception error) {
      throw new RuntimeException(error);
    }
    OUT.flush();
  }

  static void report(String method, Object params) {
    send(Map.of("method", method, "params", params));
  }

  static void notice(String method, Object params) {
    report("notice", Map.of("method", method, "params", params));
  }

  static <T> T ask(String method, Object params, Class<T> type) {
    int id = ids.incrementAndGet();
    CompletableFuture<Object> answer = new CompletableFuture<>();
    asked.put(id, answer);
    send(Map.of("id", id, "method", method, "params", params));
    return JSON.convertValue(answer.join(), type);
  }

  static <T> Mono<T> later(Callable<T> work) {
    return Mono.fromCallable(work).subscribeOn(Schedulers.boundedElastic());
  }

  static Mono<Void> done(Runnable work) {
    return Mono.fromRunnable(work);
  }

  static McpClientTransport transport(Map<String, Object> place) {
    if (place.get("command") instanceof List<?> command) {
      String[] args = command.stream().skip(1).map(Object::toString).toArray(String[]::new);
      ServerParameters server = ServerParameters.builder((String) command.get(0)).args(args).build();
      StdioClientTransport transport = new StdioClientTransport(server, JSON);
      transport.setStdErrorHandler(line -> {});
      return transport;
    }
    URI url = URI.create((String) place.get("url"));
    String base = url.getScheme() + "://" + url.getAuthority();
    if ("sse".equals(place.get("transport")))
      return HttpClientSseClientTransport.builder(base).sseEndpoint(url.getPath()).build();
    return HttpClientStreamableHttpTransport.builder(base).endpoint(url.getPath()).build();
  }

  static void setRoots() {
    ListRootsResult wanted = ask("roots/list", Map.of(), ListRootsResult.class);
    for (String uri : List.of("file:///tmp/project", "file:///tmp/elsewhere")) {
      try {
        client.removeRoot(uri).block();
      } catch (RuntimeException unknown) {
        // It was not there.
      }
    }
    for (Root root : wanted.roots()) client.addRoot(root).block();
  }

  static Object connect(Map<String, Object> place) {
    ListRootsResult roots = ask("roots/list", Map.of(), ListRootsResult.class);
    ClientCapabilities capabilities = JSON.convertValue(
        Map.of(
            "roots", Map.of("listChanged", true),
            "sampling", Map.of(),
            "elicitation", Map.of("form", Map.of(), "url", Map.of())),
        ClientCapabilities.class);
    client = McpClient.async(transport(place))
        .requestTimeout(Duration.ofMinutes(2))
        .clientInfo(JSON.convertValue(Map.of("name", "interop", "version", "1.0.0"), Implementation.class))
        .capabilities(capabilities)
        .roots(roots.roots())
        .sampling(request -> later(() -> ask("sampling/createMessage", request, CreateMessageResult.class)))
        .elicitation(request -> later(() -> ask("elicitation/create", request, ElicitResult.class)))
        .urlElicitation(request -> {
          Map<String, Object> question = new HashMap<>(JSON.convertValue(request, Map.class));
          question.put("mode", "url");
          return later(() -> ask("elicitation/create", question, ElicitResult.class));
        })
        .toolsChangeConsumer(tools -> done(() -> notice("notifications/tools/list_changed", Map.of())))
        .resourcesUpdateConsumer(contents -> done(() -> {
          for (ResourceContents each : contents)
            notice("notifications/resources/updated", Map.of("uri", each.uri()));
        }))
        .loggingConsumer(message -> done(() -> notice("notifications/message", message)))
        .progressConsumer(progress -> done(() -> {
          Map<String, Object> params = new HashMap<>(JSON.convertValue(progress, Map.class));
          // The token is the number of the call.
          params.put("id", Integer.parseInt(String.valueOf(progress.progressToken())));
          report("progress", params);
        }))
        .build();
    InitializeResult result = client.initialize().block();
    Map<String, Object> connected = new HashMap<>();
    connected.put("revision", result.protocolVersion());
    connected.put("serverInfo", result.serverInfo());
    connected.put("capabilities", result.capabilities());
    connected.put("instructions", result.instructions());
    return connected;
  }

  static <T> T to(Map<String, Object> params, Class<T> type) {
    return JSON.convertValue(params, type);
  }

  static Object handle(String method, Map<String, Object> params, int id) {
    switch (method) {
      case "connect":
        return connect(params);
      case "close":
        client.closeGracefully().block();
        return null;
      case "tools/list":
        return client.listTools().block();
      case "tools/call":
        Map<String, Object> call = new HashMap<>(params);
        call.putIfAbsent("arguments", Map.of());
        call.put("_meta", Map.of("progressToken", id));
        return client.callTool(to(call, CallToolRequest.class)).block();
      case "resources/list":
        return client.listResources().block();
      case "resources/templates/list":
        return client.listResourceTemplates().block();
      case "resources/read":
        return client.readResource(to(params, ReadResourceRequest.class)).block();
      case "prompts/list":
        return client.listPrompts().block();
      case "prompts/get":
        return client.getPrompt(to(params, GetPromptRequest.class)).block();
      case "completion/complete":
        return client.completeCompletion(to(params, CompleteRequest.class)).block();
      case "alive":
        client.ping().block();
        return null;
      case "setLevel":
        client.setLoggingLevel(JSON.convertValue(params.get("level"), LoggingLevel.class)).block();
        return null;
      case "subscribe":
        client.subscribeResource(to(params, SubscribeRequest.class)).block();
        return null;
      case "unsubscribe":
        client.unsubscribeResource(to(params, UnsubscribeRequest.class)).block();
        return null;
      case "followLists", "unfollowLists":
        return null;
      case "rootsChanged":
        setRoots();
        return null;
      default:
        throw new IllegalArgumentException("The SDK cannot send " + params.getOrDefault("method", method));
    }
  }

  static Map<String, Object> failure(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof InterruptedException) return Map.of("code", 0, "message", "The call was cancelled");
      if (cause instanceof McpError refused && refused.getJsonRpcError() != null) {
        Map<String, Object> fields = new HashMap<>();
        fields.put("code", refused.getJsonRpcError().code());
        fields.put("message", refused.getJsonRpcError().message());
        fields.put("data", refused.getJsonRpcError().data());
        return fields;
      }
    }
    return Map.of("code", 0, "message", String.valueOf(error));
  }

  static void run(String method, Map<String, Object> params, int id) {
    try {
      Object result = handle(method, params, id);
      send(Map.of("id", id, "result", result == null ? Map.of() : result));
    } catch (Throwable error) {
      send(Map.of("id", id, "error", failure(error)));
    } finally {
      running.remove(id);
    }
  }

  public static void main(String[] args) throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Map<String, Object> message = JSON.readValue(line, Map.class);
      Integer id = message.get("id") instanceof Number number ? number.intValue() : null;
      String method = (String) message.get("method");
      Object given = message.get("params");
      Map<String, Object> params = given instanceof Map ? (Map<String, Object>) given : Map.of();
      if (method == null) asked.remove(id).complete(message.get("result"));
      else if (id == null) {
        Future<?> call = running.get(((Number) params.get("id")).intValue());
        if (call != null) call.cancel(true);
      } else running.put(id, threads.submit(() -> run(method, params, id)));
    }
    System.exit(0);
  }
}
