import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.SyncCompletionSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncPromptSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceTemplateSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.McpStatelessServerFeatures;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.server.transport.HttpServletSseServerTransportProvider;
import io.modelcontextprotocol.server.transport.HttpServletStatelessServerTransport;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.*;
import jakarta.servlet.Servlet;
import java.io.File;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.catalina.startup.Tomcat;

/** The feature server with the official Java SDK: Server --stdio | --http | --stateless | --sse. */
public class Server {
  static final McpJsonMapper JSON = McpJsonDefaults.getMapper();
  static final AtomicInteger cancelled = new AtomicInteger();
  static McpSyncServer server;

  /** The types of the SDK are those of the specification. */
  static <T> T typed(Object value, Class<T> type) {
    return JSON.convertValue(value, type);
  }

  static String write(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (Exception error) {
      throw new RuntimeException(error);
    }
  }

  static CallToolResult text(String text) {
    return typed(Map.of("content", List.of(Map.of("type", "text", "text", text))), CallToolResult.class);
  }

  interface Handler {
    CallToolResult call(McpSyncServerExchange exchange, Map<String, Object> args, CallToolRequest request)
        throws Exception;
  }

  record Named(Tool tool, Handler handler) {
    CallToolResult call(McpSyncServerExchange exchange, CallToolRequest request) {
      try {
        return handler.call(exchange, request.arguments() == null ? Map.of() : request.arguments(), request);
      } catch (RuntimeException error) {
        throw error;
      } catch (Exception error) {
        throw new RuntimeException(error);
      }
    }

    SyncToolSpecification specification() {
      return new SyncToolSpecification(tool, this::call);
    }
  }

  static Map<String, Object> schema(Map<String, String> types) {
    Map<String, Object> properties = new java.util.HashMap<>();
    types.forEach((name, type) -> properties.put(name, Map.of("type", type)));
    return Map.of("type", "object", "properties", properties, "required", List.copyOf(types.keySet()));
  }

  static Named tool(String name, Map<String, String> types, Handler handler) {
    return new Named(typed(Map.of("name", name, "inputSchema", schema(types)), Tool.class), handler);
  }

  static void progress(McpSyncServerExchange exchange, CallToolRequest request, double step, Double total) {
    Object token = request.meta() == null ? null : request.meta().get("progressToken");
    if (exchange == null || token == null) return;
    Map<String, Object> report = new java.util.HashMap<>(Map.of("progressToken", token, "progress", step));
    if (total != null) report.put("total", total);
    exchange.progressNotification(typed(report, ProgressNotification.class));
  }

  static List<Named> tools() {
    List<Named> tools = new ArrayList<>();
    Map<String, Object> output = schema(Map.of("result", "integer"));
    Map<String, Object> input = schema(Map.of("a", "integer", "b", "integer"));
    tools.add(new Named(
        typed(Map.of("name", "add", "inputSchema", input, "outputSchema", output), Tool.class),
        (exchange, args, request) -> {
          int result = ((Number) args.get("a")).intValue() + ((Number) args.get("b")).intValue();
          Map<String, Object> sum = Map.of("result", result);
          Object content = List.of(Map.of("type", "text", "text", write(sum)));
          return typed(Map.of("content", content, "structuredContent", sum), CallToolResult.class);
        }));
    tools.add(tool("count", Map.of("to", "integer"), (exchange, args, request) -> {
      int to = ((Number) args.get("to")).intValue();
      for (int step = 1; step <= to; step += 1) {
        progress(exchange, request, step, (double) to);
        Thread.sleep(20);
      }
      return text("counted to " + to);
    }));
    tools.add(tool("wait", Map.of(), (exchange, args, request) -> {
      progress(exchange, request, 1, null);
      try {
        new CountDownLatch(1).await();
      } catch (InterruptedException interrupted) {
        cancelled.incrementAndGet();
      }
      return text("never seen");
    }));
    tools.add(tool("cancellations", Map.of(), (exchange, args, request) -> text("" + cancelled.get())));
    tools.add(tool("log", Map.of("level", "string", "data", "string"), (exchange, args, request) -> {
      exchange.loggingNotification(typed(
          Map.of("level", args.get("level"), "data", args.get("data"), "logger", "server"),
          LoggingMessageNotification.class));
      return text("logged");
    }));
    tools.add(tool("grow", Map.of("name", "string"), (exchange, args, request) -> {
      String name = (String) args.get("name");
      server.addTool(tool(name, Map.of(), (each, none, call) -> text(name)).specification());
      return text("grown");
    }));
    tools.add(tool("touch", Map.of("uri", "string"), (exchange, args, request) -> {
      server.notifyResourcesUpdated(typed(Map.of("uri", args.get("uri")), ResourcesUpdatedNotification.class));
      return text("touched");
    }));
    tools.add(tool("sample", Map.of("prompt", "string"), (exchange, args, request) -> {
      Object content = Map.of("type", "text", "text", args.get("prompt"));
      Object messages = List.of(Map.of("role", "user", "content", content));
      return text(write(exchange.createMessage(
          typed(Map.of("messages", messages, "maxTokens", 100), CreateMessageRequest.class))));
    }));
    tools.add(tool("ask", Map.of(), (exchange, args, request) -> {
      Map<String, Object> form = Map.of(
          "mode", "form", "message", "Who are you?", "requestedSchema", schema(Map.of("name", "string")));
      return text(write(exchange.createElicitation(typed(form, ElicitFormRequest.class))));
    }));
    tools.add(tool("visit", Map.of(), (exchange, args, request) -> {
      Map<String, Object> visit = Map.of(
          "mode", "url",
          "message", "Please sign in",
          "url", "https://example.com/sign-in",
          "elicitationId", "sign-in-1");
      return text(write(exchange.createElicitation(typed(visit, ElicitUrlRequest.class))));
    }));
    tools.add(tool("roots", Map.of(), (exchange, args, request) -> text(write(exchange.listRoots()))));
    return tools;
  }

  static ReadResourceResult read(ReadResourceRequest request) {
    String uri = request.uri();
    Map<String, Object> contents = uri.equals("feature://bytes")
        ? Map.of("uri", uri, "mimeType", "application/octet-stream", "blob", "AAEC")
        : Map.of(
            "uri", uri,
            "mimeType", "text/plain",
            "text", uri.startsWith("feature://item/") ? "Item " + uri.substring(15) : "A text.");
    return typed(Map.of("contents", List.of(contents)), ReadResourceResult.class);
  }

  static List<Resource> resources() {
    return Stream.of("fixed", "bytes")
        .map(name -> typed(Map.of("uri", "feature://" + name, "name", name), Resource.class))
        .toList();
  }

  static final ResourceTemplate TEMPLATE =
      typed(Map.of("uriTemplate", "feature://item/{id}", "name", "item"), ResourceTemplate.class);
  static final Prompt GREET = typed(
      Map.of("name", "greet", "arguments", List.of(Map.of("name", "name", "required", true))), Prompt.class);

  static GetPromptResult greet(GetPromptRequest request) {
    Object content = Map.of("type", "text", "text", "Greet " + request.arguments().get("name") + ".");
    return typed(Map.of("messages", List.of(Map.of("role", "user", "content", content))), GetPromptResult.class);
  }

  static final CompleteReference ITEM =
      typed(Map.of("type", "ref/resource", "uri", "feature://item/{id}"), ResourceReference.class);

  static CompleteResult complete(CompleteRequest request) {
    List<String> found =
        Stream.of("1", "12", "2").filter(value -> value.startsWith(request.argument().value())).toList();
    Object completion = Map.of("values", found, "total", found.size(), "hasMore", false);
    return typed(Map.of("completion", completion), CompleteResult.class);
  }

  static final ServerCapabilities CAPABILITIES = typed(
      Map.of(
          "tools", Map.of("listChanged", true),
          "resources", Map.of("subscribe", true, "listChanged", true),
          "prompts", Map.of("listChanged", true),
          "logging", Map.of(),
          "completions", Map.of()),
      ServerCapabilities.class);
  static final ServerCapabilities STATELESS = typed(
      Map.of("tools", Map.of(), "resources", Map.of(), "prompts", Map.of(), "completions", Map.of()),
      ServerCapabilities.class);

  static McpSyncServer create(McpServer.SyncSpecification<?> specification) {
    return specification
        .serverInfo("java", "1.0.0")
        .instructions("Call a tool to see its feature.")
        .capabilities(CAPABILITIES)
        .requestTimeout(Duration.ofMinutes(1))
        .tools(tools().stream().map(Named::specification).toList())
        .resources(resources().stream()
            .map(each -> new SyncResourceSpecification(each, (exchange, request) -> read(request)))
            .toList())
        .resourceTemplates(new SyncResourceTemplateSpecification(TEMPLATE, (exchange, request) -> read(request)))
        .prompts(new SyncPromptSpecification(GREET, (exchange, request) -> greet(request)))
        .completions(new SyncCompletionSpecification(ITEM, (exchange, request) -> complete(request)))
        .build();
  }

  static Servlet stateless() {
    HttpServletStatelessServerTransport transport =
        HttpServletStatelessServerTransport.builder().messageEndpoint("/mcp").build();
    McpServer.sync(transport)
        .serverInfo("java", "1.0.0")
        .instructions("Call a tool to see its feature.")
        .capabilities(STATELESS)
        .tools(tools().stream()
            .map(each -> new McpStatelessServerFeatures.SyncToolSpecification(
                each.tool(), (context, request) -> each.call(null, request)))
            .toList())
        .resources(resources().stream()
            .map(each -> new McpStatelessServerFeatures.SyncResourceSpecification(
                each, (context, request) -> read(request)))
            .toList())
        .resourceTemplates(new McpStatelessServerFeatures.SyncResourceTemplateSpecification(
            TEMPLATE, (context, request) -> read(request)))
        .prompts(new McpStatelessServerFeatures.SyncPromptSpecification(GREET, (context, request) -> greet(request)))
        .completions(new McpStatelessServerFeatures.SyncCompletionSpecification(
            ITEM, (context, request) -> complete(request)))
        .build();
    return transport;
  }

  static void serve(Servlet servlet, String path) throws Exception {
    Tomcat tomcat = new Tomcat();
    File folder = Files.createTempDirectory("everwire-java").toFile();
    tomcat.setBaseDir(folder.getPath());
    tomcat.setHostname("127.0.0.1");
    // A port that the system picks.
    tomcat.setPort(0);
    tomcat.getConnector().setProperty("address", "127.0.0.1");
    // Otherwise, a connection closes after 100 requests.
    tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
    var context = tomcat.addContext("", folder.getPath());
    var wrapper = Tomcat.addServlet(context, "mcp", servlet);
    wrapper.setAsyncSupported(true);
    wrapper.setLoadOnStartup(1);
    context.addServletMappingDecoded("/*", "mcp");
    tomcat.start();
    System.err.println("listening on http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + path);
    tomcat.getServer().await();
  }

  public static void main(String[] args) throws Exception {
    java.util.logging.LogManager.getLogManager().reset();
    switch (args[0]) {
      case "--stdio" -> {
        server = create(McpServer.sync(new StdioServerTransportProvider(JSON)));
        new CountDownLatch(1).await();
      }
      case "--sse" -> {
        var transport = HttpServletSseServerTransportProvider.builder().messageEndpoint("/messages").build();
        server = create(McpServer.sync(transport));
        serve(transport, "/sse");
      }
      case "--http" -> {
        var transport = HttpServletStreamableServerTransportProvider.builder().mcpEndpoint("/mcp").build();
        server = create(McpServer.sync(transport));
        serve(transport, "/mcp");
      }
      default -> serve(stateless(), "/mcp");
    }
  }
}
