//! A client of the official Rust SDK that a test drives: JSON-RPC over stdin and stdout, in both directions. See
//! driver.ts for the methods.

// Roots, sampling and logs are deprecated, and servers have them nevertheless.
#![allow(deprecated)]

use std::{
    collections::HashMap,
    io::Write,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

#[path = "../polled.rs"]
mod polled;

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient,
    model::*,
    service::{
        NotificationContext, PeerRequestOptions, RequestContext, RunningService, ServiceError,
        Subscription,
    },
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    sync::oneshot,
};

type Client = RunningService<RoleClient, Handler>;

/// The end of the client: it reports notifications, and asks the test what it is asked.
#[derive(Default)]
struct Driver {
    ids: AtomicU64,
    asked: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    cancels: Mutex<HashMap<u64, oneshot::Sender<()>>>,
    /// The calls of the test by their progress tokens.
    tokens: Mutex<HashMap<String, u64>>,
    client: OnceLock<Client>,
    level: Mutex<Option<Value>>,
    subscriptions: Mutex<HashMap<String, oneshot::Sender<()>>>,
}

impl Driver {
    fn send(&self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{message}");
        let _ = out.flush();
    }

    fn report(&self, method: &str, params: Value) {
        self.send(json!({ "method": method, "params": params }));
    }

    fn notice(&self, method: &str, params: Value) {
        self.report("notice", json!({ "method": method, "params": params }));
    }

    async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
    ) -> Result<T, ErrorData> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed) + 1;
        let (answered, answer) = oneshot::channel();
        self.asked.lock().unwrap().insert(id, answered);
        self.send(json!({ "id": id, "method": method, "params": params }));
        let answer = answer.await.map_err(failed)?;
        serde_json::from_value(answer).map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn json_of(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

#[derive(Clone)]
struct Handler(Arc<Driver>);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let capabilities: ClientCapabilities = serde_json::from_value(json!({
            "roots": { "listChanged": true },
            "sampling": {},
            "elicitation": { "form": {}, "url": {} },
            "extensions": { TASKS_EXTENSION_ID: {} },
        }))
        .unwrap();
        ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.0.ask("sampling/createMessage", json_of(params)).await
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.0.ask("elicitation/create", json_of(params)).await
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        self.0.ask("roots/list", json!({})).await
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let mut report = json_of(params);
        let token = report["progressToken"].to_string();
        let Some(id) = self.0.tokens.lock().unwrap().get(&token).copied() else {
            return;
        };
        report["id"] = json!(id);
        self.0.report("progress", report);
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.notice("notifications/message", json_of(params));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0
            .notice("notifications/resources/updated", json_of(params));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.notice("notifications/tools/list_changed", json!({}));
    }
}

async fn connect(driver: &Arc<Driver>, place: &Value) -> Result<Value, ServiceOrText> {
    let version = |revision: &Value| serde_json::from_value::<ProtocolVersion>(revision.clone());
    let wanted = vec![version(&place["revision"]).map_err(other)?];
    let lifecycle = match place["era"].as_str() {
        Some("legacy") => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Discover {
            preferred_versions: wanted,
        },
    };
    let handler = Handler(driver.clone());
    let client = if let Some(command) = place["command"].as_array() {
        let words: Vec<_> = command.iter().filter_map(Value::as_str).collect();
        let mut process = tokio::process::Command::new(words[0]);
        process.args(&words[1..]);
        let transport = TokioChildProcess::new(process).map_err(other)?;
        handler
            .serve_with_lifecycle(transport, lifecycle)
            .await
            .map_err(other)?
    } else {
        let url = place["url"].as_str().unwrap_or_default().to_owned();
        let transport = StreamableHttpClientTransport::from_uri(url);
        handler
            .serve_with_lifecycle(transport, lifecycle)
            .await
            .map_err(other)?
    };
    let info = json_of(client.peer_info().as_deref());
    let connected = json!({
        "revision": info["protocolVersion"],
        "serverInfo": info["serverInfo"],
        "capabilities": info["capabilities"],
        "instructions": info["instructions"],
    });
    driver
        .client
        .set(client)
        .map_err(|_| other("connected twice"))?;
    Ok(connected)
}

enum ServiceOrText {
    Service(ServiceError),
    Text(String),
}

impl From<ServiceError> for ServiceOrText {
    fn from(error: ServiceError) -> Self {
        Self::Service(error)
    }
}

fn other(error: impl std::fmt::Display) -> ServiceOrText {
    ServiceOrText::Text(error.to_string())
}

fn params_of<T: serde::de::DeserializeOwned>(params: &Value) -> Result<T, ServiceOrText> {
    serde_json::from_value(params.clone()).map_err(other)
}

/// Sends a call, and answers with a second one what the server asks. The SDK's own helper reports no progress token.
async fn call_tool(
    driver: &Arc<Driver>,
    client: &Client,
    params: &Value,
    id: u64,
) -> Result<Value, ServiceOrText> {
    let mut request: CallToolRequestParams = params_of(params)?;
    let level = driver.level.lock().unwrap().clone();
    for _ in 0..10 {
        let mut options = PeerRequestOptions::no_options();
        if let (true, Some(level)) = (is_modern(client), &level) {
            let meta: RequestMetaObject =
                params_of(&json!({ "io.modelcontextprotocol/logLevel": level }))?;
            options = options.with_meta(meta);
        }
        let call = ClientRequest::CallToolRequest(CallToolRequest::new(request.clone()));
        let handle = client.send_cancellable_request(call, options).await?;
        driver
            .tokens
            .lock()
            .unwrap()
            .insert(json_of(&handle.progress_token).to_string(), id);
        let (cancel, mut cancelled) = oneshot::channel();
        driver.cancels.lock().unwrap().insert(id, cancel);
        let peer = handle.peer.clone();
        let number = handle.id.clone();
        let result = tokio::select! {
            result = handle.await_response() => result?,
            _ = &mut cancelled => {
                let cancel = params_of(&json!({ "requestId": number, "reason": "enough" }))?;
                peer.notify_cancelled(cancel).await?;
                return Err(other("the call was cancelled"));
            }
        };
        let result = match result {
            ServerResult::CreateTaskResult(task) => {
                return polled::polled(driver, client, task, cancelled).await;
            }
            result => result,
        };
        let ServerResult::InputRequiredResult(asked) = result else {
            return Ok(json_of(result));
        };
        let mut answers = InputResponses::new();
        for (key, ask) in asked.input_requests.unwrap_or_default() {
            let ask = json_of(ask);
            let method = ask["method"].as_str().unwrap_or_default();
            let answer: Value = driver
                .ask(method, ask["params"].clone())
                .await
                .map_err(other)?;
            answers.insert(key, answer);
        }
        request.input_responses = Some(answers);
        request.request_state = asked.request_state;
    }
    Err(other("too many rounds"))
}

fn is_modern(client: &Client) -> bool {
    json_of(client.peer_info().as_deref())["protocolVersion"]
        .as_str()
        .unwrap_or_default()
        >= "2026-07-28"
}

/// Reports what comes on a stream until the test ends it.
async fn follow(
    driver: Arc<Driver>,
    mut subscription: Subscription,
    mut end: oneshot::Receiver<()>,
) {
    loop {
        tokio::select! {
            notice = subscription.next() => match notice {
                Ok(Some(notice)) => driver.report("notice", json_of(notice)),
                _ => return,
            },
            _ = &mut end => {
                let _ = subscription.cancel().await;
                return;
            }
        }
    }
}

async fn listen(
    driver: &Arc<Driver>,
    client: &Client,
    key: &str,
    filter: Value,
) -> Result<(), ServiceOrText> {
    let subscription = client.listen(params_of(&filter)?).await?;
    let (end, ended) = oneshot::channel();
    driver
        .subscriptions
        .lock()
        .unwrap()
        .insert(key.to_owned(), end);
    tokio::spawn(follow(driver.clone(), subscription, ended));
    Ok(())
}

async fn handle(
    driver: &Arc<Driver>,
    method: &str,
    params: &Value,
    id: u64,
) -> Result<Value, ServiceOrText> {
    if method == "connect" {
        return connect(driver, params).await;
    }
    let client = driver.client.get().ok_or_else(|| other("not connected"))?;
    let uri = params["uri"].as_str().unwrap_or_default();
    let modern = is_modern(client);
    Ok(match method {
        "close" => {
            client.cancellation_token().cancel();
            Value::Null
        }
        "tools/list" => json_of(client.list_tools(None).await?),
        "tools/call" => call_tool(driver, client, params, id).await?,
        "resources/list" => json_of(client.list_resources(None).await?),
        "resources/templates/list" => json_of(client.list_resource_templates(None).await?),
        "resources/read" => json_of(client.read_resource(params_of(params)?).await?),
        "prompts/list" => json_of(client.list_prompts(None).await?),
        "prompts/get" => json_of(client.get_prompt(params_of(params)?).await?),
        "completion/complete" => json_of(client.complete(params_of(params)?).await?),
        "alive" if modern => {
            client.discover(RequestMetaObject::default()).await?;
            Value::Null
        }
        "alive" => {
            client
                .send_request(ClientRequest::PingRequest(PingRequest::default()))
                .await?;
            Value::Null
        }
        "setLevel" => {
            *driver.level.lock().unwrap() = Some(params["level"].clone());
            if !modern {
                client.set_level(params_of(params)?).await?;
            }
            Value::Null
        }
        "subscribe" if modern => {
            listen(
                driver,
                client,
                uri,
                json!({ "resourceSubscriptions": [uri] }),
            )
            .await?;
            Value::Null
        }
        "subscribe" => {
            client.subscribe(params_of(params)?).await?;
            Value::Null
        }
        "unsubscribe" if !modern => {
            client.unsubscribe(params_of(params)?).await?;
            Value::Null
        }
        "followLists" if modern => {
            listen(driver, client, "lists", json!({ "toolsListChanged": true })).await?;
            Value::Null
        }
        "unsubscribe" | "unfollowLists" => {
            let key = if method == "unsubscribe" {
                uri
            } else {
                "lists"
            };
            if let Some(end) = driver.subscriptions.lock().unwrap().remove(key) {
                let _ = end.send(());
            }
            Value::Null
        }
        "followLists" => Value::Null,
        "rootsChanged" => {
            if !modern {
                client.notify_roots_list_changed().await?;
            }
            Value::Null
        }
        "request" => {
            let name = params["method"].as_str().unwrap_or_default().to_owned();
            let custom = CustomRequest::new(name, Some(params["params"].clone()));
            json_of(
                client
                    .send_request(ClientRequest::CustomRequest(custom))
                    .await?,
            )
        }
        _ => return Err(other(format!("the driver has no {method}"))),
    })
}

fn error_of(error: ServiceOrText) -> Value {
    match error {
        ServiceOrText::Service(ServiceError::McpError(error)) => json_of(error),
        ServiceOrText::Service(error) => json!({ "code": 0, "message": error.to_string() }),
        ServiceOrText::Text(message) => json!({ "code": 0, "message": message }),
    }
}

// The SDK handles each notification in a task of its own. One thread keeps their order.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let driver = Arc::new(Driver::default());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let id = message["id"].as_u64();
        match (message["method"].as_str().map(str::to_owned), id) {
            (None, Some(id)) => {
                if let Some(answered) = driver.asked.lock().unwrap().remove(&id) {
                    let _ = answered.send(message["result"].clone());
                }
            }
            (Some(_), None) => {
                let id = message["params"]["id"].as_u64().unwrap_or_default();
                if let Some(cancel) = driver.cancels.lock().unwrap().remove(&id) {
                    let _ = cancel.send(());
                }
            }
            (Some(method), Some(id)) => {
                let driver = driver.clone();
                tokio::spawn(async move {
                    match handle(&driver, &method, &message["params"], id).await {
                        Ok(Value::Null) => driver.send(json!({ "id": id, "result": {} })),
                        Ok(result) => driver.send(json!({ "id": id, "result": result })),
                        Err(error) => driver.send(json!({ "id": id, "error": error_of(error) })),
                    }
                });
            }
            (None, None) => {}
        }
    }
}
