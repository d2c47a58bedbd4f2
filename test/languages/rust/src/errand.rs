//! The tool `errand`, whose calls are tasks: it answers with what it was told, and never ends if that is "Nobody".

use std::sync::{Arc, Mutex};

use rmcp::{
    ErrorData,
    model::*,
    task_manager::{TaskExit, TaskOptions},
};
use serde_json::json;

use crate::{World, schema, typed};

pub fn start(world: &Arc<Mutex<World>>) -> Result<CallToolResponse, ErrorData> {
    let shared = world.clone();
    let question: InputRequest = typed(json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "Who are you?",
            "requestedSchema": schema(json!({ "name": { "type": "string" } })),
        },
    }))?;
    let options = TaskOptions::new().with_poll_interval_ms(20);
    let tasks = world.lock().unwrap().tasks.clone();
    let task = tasks.spawn(options, move |task| {
        Box::pin(async move {
            let answer = match task.request_input("question", question).await {
                Ok(answer) if answer["content"]["name"] == "Nobody" => {
                    task.cancelled().await;
                    Err(TaskExit::Cancelled)
                }
                answer => answer,
            };
            if let Err(TaskExit::Cancelled) = answer {
                shared.lock().unwrap().cancelled_errands += 1;
            }
            let answer = answer?;
            let content = json!([{ "type": "text", "text": answer.to_string() }]);
            Ok(typed(json!({ "content": content }))?)
        })
    });
    Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
}
