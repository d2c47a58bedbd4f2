//! Polls a task to its end, as the SDK leaves to its users.

use std::{sync::Arc, time::Duration};

use rmcp::model::*;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::{Client, Driver, ServiceOrText, json_of, other};

/// Answers what the task asks. Cancels it when the test says so.
pub async fn polled(
    driver: &Arc<Driver>,
    client: &Client,
    created: CreateTaskResult,
    mut cancelled: oneshot::Receiver<()>,
) -> Result<Value, ServiceOrText> {
    let id = created.task.task_id;
    let pause = Duration::from_millis(created.task.poll_interval_ms.unwrap_or(20));
    let mut answered = Vec::new();
    loop {
        tokio::select! {
            _ = tokio::time::sleep(pause) => {}
            _ = &mut cancelled => {
                client.cancel_task(CancelTaskParams::new(id)).await?;
                return Err(other("the call was cancelled"));
            }
        }
        let task = client.get_task(GetTaskParams::new(id.clone())).await?.task;
        match task.payload {
            TaskPayload::Completed { result } => return Ok(Value::Object(result)),
            TaskPayload::Failed { error } => return Err(other(Value::Object(error))),
            TaskPayload::InputRequired { input_requests } => {
                let mut answers = InputResponses::new();
                for (key, ask) in input_requests {
                    if answered.contains(&key) {
                        continue;
                    }
                    let ask = json_of(ask);
                    let method = ask["method"].as_str().unwrap_or_default();
                    let answer: Value = driver
                        .ask(method, ask["params"].clone())
                        .await
                        .map_err(other)?;
                    answered.push(key.clone());
                    answers.insert(key, answer);
                }
                if !answers.is_empty() {
                    client
                        .update_task(UpdateTaskParams::new(id.clone(), answers))
                        .await?;
                }
            }
            _ => {}
        }
    }
}
