//! The feature server with the official Rust SDK: server --stdio | --http | --stateless.

// Roots, sampling and logs are deprecated, and servers have them nevertheless.
#![allow(deprecated)]

use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

#[path = "../errand.rs"]
mod errand;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::*,
    service::{Peer, RequestContext, SubscriptionContext, SubscriptionSink},
    task_manager::TaskManager,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};
use tokio::sync::watch;

/// What all sessions of the process share.
#[derive(Default)]
struct World {
    cancelled: usize,
    cancelled_errands: usize,
    tasks: TaskManager,
    grown: Vec<String>,
    /// Streams of 2026-07-28.
    sinks: Vec<SubscriptionSink>,
    /// How many streams are acknowledged, or soon will be, and are not yet in `sinks`.
    opening: watch::Sender<usize>,
}

/// All open streams. The SDK acknowledges a stream before it calls `listen`, so the next request may come sooner.
async fn sinks(world: &Mutex<World>) -> Vec<SubscriptionSink> {
    let mut opening = world.lock().unwrap().opening.subscribe();
    let _ = opening.wait_for(|streams| *streams == 0).await;
    world.lock().unwrap().sinks.clone()
}

/// One session, or one request without a session.
#[derive(Clone)]
struct Features {
    world: Arc<Mutex<World>>,
    /// The SDK keeps neither the level nor the subscriptions of a session.
    level: Arc<Mutex<usize>>,
    subscribed: Arc<Mutex<HashSet<String>>>,
}

const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

fn level_number(level: &Value) -> usize {
    LEVELS.iter().position(|each| level == each).unwrap_or(0)
}

/// The types of the SDK are those of the specification.
fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn text(text: impl Into<String>) -> Result<CallToolResponse, ErrorData> {
    let result: CallToolResult =
        typed(json!({ "content": [{ "type": "text", "text": text.into() }] }))?;
    Ok(result.into())
}

fn schema(properties: Value) -> Value {
    let required: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

async fn progress(context: &RequestContext<RoleServer>, step: u64, total: Option<u64>) {
    let Some(token) = context.meta.get_progress_token() else {
        return;
    };
    let params = json!({ "progressToken": token, "progress": step, "total": total });
    if let Ok(params) = serde_json::from_value(params) {
        let _ = context.peer.notify_progress(params).await;
    }
}

/// Asks the client: with a request in a session, or with a result that the client answers with a second call.
async fn question(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    method: &str,
    params: Value,
) -> Result<CallToolResponse, ErrorData> {
    let ask = json!({ "method": method, "params": params });
    if modern(context) {
        if let Some(answer) = request
            .input_responses
            .as_ref()
            .and_then(|all| all.get("question"))
        {
            return text(answer.to_string());
        }
        let asked: InputRequiredResult = typed(json!({
            "resultType": "input_required",
            "inputRequests": { "question": ask },
        }))?;
        return Ok(asked.into());
    }
    let answer = context
        .peer
        .send_request(typed(ask)?)
        .await
        .map_err(failed)?;
    text(serde_json::to_string(&answer).map_err(failed)?)
}

impl Features {
    fn new(world: Arc<Mutex<World>>) -> Self {
        Self {
            world,
            level: Arc::default(),
            subscribed: Arc::default(),
        }
    }

    fn tools(&self) -> Value {
        let tool = |name: &str, properties: Value| json!({ "name": name, "inputSchema": schema(properties) });
        let mut add = tool(
            "add",
            json!({ "a": { "type": "integer" }, "b": { "type": "integer" } }),
        );
        add["outputSchema"] = schema(json!({ "result": { "type": "integer" } }));
        let string = json!({ "type": "string" });
        let mut tools = vec![
            add,
            tool("count", json!({ "to": { "type": "integer" } })),
            tool("log", json!({ "level": string, "data": string })),
            tool("grow", json!({ "name": string })),
            tool("touch", json!({ "uri": string })),
            tool("sample", json!({ "prompt": string })),
        ];
        for name in [
            "wait",
            "cancellations",
            "ask",
            "visit",
            "roots",
            "errand",
            "cancelled-errands",
        ] {
            tools.push(tool(name, json!({})));
        }
        for name in &self.world.lock().unwrap().grown {
            tools.push(tool(name, json!({})));
        }
        json!(tools)
    }

    async fn log(
        &self,
        level: &Value,
        data: &Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let wanted = if modern(context) {
            match serde_json::to_value(&context.meta)
                .map_err(failed)?
                .get("io.modelcontextprotocol/logLevel")
            {
                Some(level) => level_number(level),
                None => return Ok(()),
            }
        } else {
            *self.level.lock().unwrap()
        };
        if level_number(level) < wanted {
            return Ok(());
        }
        let params = typed(json!({ "level": level, "data": data }))?;
        context
            .peer
            .notify_logging_message(params)
            .await
            .map_err(failed)
    }

    async fn grow(
        &self,
        name: &str,
        peer: &Peer<RoleServer>,
        modern: bool,
    ) -> Result<(), ErrorData> {
        self.world.lock().unwrap().grown.push(name.to_owned());
        for sink in sinks(&self.world).await {
            let _ = sink.notify_tool_list_changed().await;
        }
        if modern {
            Ok(())
        } else {
            peer.notify_tool_list_changed().await.map_err(failed)
        }
    }

    async fn touch(&self, uri: &str, peer: &Peer<RoleServer>) -> Result<(), ErrorData> {
        for sink in sinks(&self.world).await {
            let _ = sink.notify_resource_updated(uri).await;
        }
        if !self.subscribed.lock().unwrap().contains(uri) {
            return Ok(());
        }
        peer.notify_resource_updated(typed(json!({ "uri": uri }))?)
            .await
            .map_err(failed)
    }
}

impl ServerHandler for Features {
    fn get_info(&self) -> ServerConfig {
        let capabilities: ServerCapabilities = serde_json::from_value(json!({
            "tools": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "prompts": { "listChanged": true },
            "logging": {},
            "completions": {},
            "extensions": { TASKS_EXTENSION_ID: {} },
        }))
        .unwrap();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("rust", "1.0.0"))
            .with_instructions("Call a tool to see its feature.")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        typed(json!({ "tools": self.tools() }))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = json!(request.arguments.clone().unwrap_or_default());
        match request.name.as_ref() {
            "add" => {
                let (Some(a), Some(b)) = (args["a"].as_i64(), args["b"].as_i64()) else {
                    return Err(ErrorData::invalid_params(
                        "invalid arguments: a and b must be integers",
                        None,
                    ));
                };
                let sum = json!({ "result": a + b });
                let content = json!([{ "type": "text", "text": sum.to_string() }]);
                let result: CallToolResult =
                    typed(json!({ "content": content, "structuredContent": sum }))?;
                Ok(result.into())
            }
            "count" => {
                let to = args["to"].as_u64().unwrap_or(0);
                for step in 1..=to {
                    progress(&context, step, Some(to)).await;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                text(format!("counted to {to}"))
            }
            "wait" => {
                progress(&context, 1, None).await;
                context.ct.cancelled().await;
                self.world.lock().unwrap().cancelled += 1;
                text("never seen")
            }
            "cancellations" => text(self.world.lock().unwrap().cancelled.to_string()),
            "log" => {
                self.log(&args["level"], &args["data"], &context).await?;
                text("logged")
            }
            "grow" => {
                self.grow(
                    args["name"].as_str().unwrap_or_default(),
                    &context.peer,
                    modern(&context),
                )
                .await?;
                text("grown")
            }
            "touch" => {
                self.touch(args["uri"].as_str().unwrap_or_default(), &context.peer)
                    .await?;
                text("touched")
            }
            "sample" => {
                let content = json!({ "type": "text", "text": args["prompt"] });
                let params = json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 100 });
                question(&request, &context, "sampling/createMessage", params).await
            }
            "ask" => {
                let form = schema(json!({ "name": { "type": "string" } }));
                let params =
                    json!({ "mode": "form", "message": "Who are you?", "requestedSchema": form });
                question(&request, &context, "elicitation/create", params).await
            }
            "visit" => {
                let params = json!({
                    "mode": "url",
                    "message": "Please sign in",
                    "url": "https://example.com/sign-in",
                    "elicitationId": "sign-in-1",
                });
                question(&request, &context, "elicitation/create", params).await
            }
            "roots" => question(&request, &context, "roots/list", json!({})).await,
            "errand" => errand::start(&self.world),
            "cancelled-errands" => text(self.world.lock().unwrap().cancelled_errands.to_string()),
            name if self
                .world
                .lock()
                .unwrap()
                .grown
                .iter()
                .any(|grown| grown == name) =>
            {
                text(name)
            }
            name => Err(ErrorData::invalid_params(
                format!("unknown tool {name}"),
                None,
            )),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        typed(json!({ "resources": [
            { "uri": "feature://fixed", "name": "fixed" },
            { "uri": "feature://bytes", "name": "bytes" },
        ] }))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        typed(
            json!({ "resourceTemplates": [{ "uriTemplate": "feature://item/{id}", "name": "item" }] }),
        )
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = &request.uri;
        let contents = match uri.as_str() {
            "feature://fixed" => json!({ "uri": uri, "text": "A text." }),
            "feature://bytes" => json!({ "uri": uri, "blob": "AAEC" }),
            _ => match uri.strip_prefix("feature://item/") {
                Some(id) => json!({ "uri": uri, "text": format!("Item {id}") }),
                None => {
                    return Err(ErrorData::resource_not_found(
                        "Resource not found",
                        Some(json!({ "uri": uri })),
                    ));
                }
            },
        };
        let result: ReadResourceResult = typed(json!({ "contents": [contents] }))?;
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        typed(
            json!({ "prompts": [{ "name": "greet", "arguments": [{ "name": "name", "required": true }] }] }),
        )
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let args = json!(request.arguments.unwrap_or_default());
        let said = format!("Greet {}.", args["name"].as_str().unwrap_or_default());
        let content = json!({ "type": "text", "text": said });
        let result: GetPromptResult =
            typed(json!({ "messages": [{ "role": "user", "content": content }] }))?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let asked = serde_json::to_value(&request).map_err(failed)?;
        let resource = asked["ref"]["type"] == "ref/resource";
        let all: &[&str] = if resource {
            &["1", "12", "2"]
        } else {
            &["Ada", "Alan"]
        };
        let start = asked["argument"]["value"].as_str().unwrap_or_default();
        let values: Vec<_> = all
            .iter()
            .filter(|value| value.starts_with(start))
            .collect();
        typed(
            json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }),
        )
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let level = serde_json::to_value(request.level).map_err(failed)?;
        *self.level.lock().unwrap() = level_number(&level);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let world = self.world.lock().unwrap();
        world.opening.send_modify(|streams| *streams += 1);
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let id = context.sink().id().clone();
        {
            let mut world = self.world.lock().unwrap();
            world.sinks.push(context.sink().clone());
            world.opening.send_modify(|streams| *streams -= 1);
        }
        context.cancelled().await;
        self.world
            .lock()
            .unwrap()
            .sinks
            .retain(|sink| sink.id() != &id);
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let tasks = self.world.lock().unwrap().tasks.clone();
        Ok(GetTaskResult::new(tasks.get_task(&request.task_id)?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let tasks = self.world.lock().unwrap().tasks.clone();
        tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let tasks = self.world.lock().unwrap().tasks.clone();
        tasks.cancel_task(&request.task_id)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.lock().unwrap().insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.lock().unwrap().remove(&request.uri);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let way = std::env::args().nth(1).unwrap_or_default();
    let world = Arc::new(Mutex::new(World::default()));
    if way == "--stdio" {
        let running = Features::new(world).serve(rmcp::transport::stdio()).await?;
        running.waiting().await?;
        return Ok(());
    }
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = way == "--http";
    let service = StreamableHttpService::new(
        move || Ok(Features::new(world.clone())),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    // A port that the system picks.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    // Otherwise, small responses wait for the acknowledgement of the one before.
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
