//! Responses of the control port.

use assay_run::text;
use assay_serve::http::{HttpAnswer, HttpRequest, Method, StatusCode};
use serde_json::{Value, json};

use crate::port::StatusBoard;
use crate::port::metrics::metrics;
use crate::rate_control::RateControlError;

/// The media type of Prometheus's text format.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

const JSON: &str = "application/json";

fn json_answer(value: &Value) -> HttpAnswer {
    let body = format!("{value:#}\n");
    HttpAnswer { status: StatusCode::OK, media: JSON, allow: None, body }
}

/// A refusal that says why.
pub fn refusal(status: StatusCode, why: &str) -> HttpAnswer {
    HttpAnswer { status, ..json_answer(&json!({ "error": why })) }
}

/// Responds to `requested` from the state of the run.
pub fn answer(requested: &HttpRequest<'_>, board: &StatusBoard) -> HttpAnswer {
    let (is_get, is_post) = (requested.method == Method::GET, requested.method == Method::POST);
    match requested.path {
        "/" if is_get => json_answer(&board.read(|observed| observed.json())),
        "/metrics" if is_get => {
            HttpAnswer { media: PROMETHEUS, body: board.read(metrics), ..json_answer(&Value::Null) }
        }
        "/" | "/metrics" => wrong_method("GET"),
        // A web page in a browser can send requests to this machine, but not without saying
        // that they come from a page.
        "/rate" | "/stop" if is_post && requested.has_origin => {
            refusal(StatusCode::FORBIDDEN, "requests from web pages must not control a run")
        }
        "/rate" if is_post => set_rate(requested.body, board),
        "/stop" if is_post => stop(board),
        "/rate" | "/stop" => wrong_method("POST"),
        path => refusal(
            StatusCode::NOT_FOUND,
            &format!(
                "there is no {path:?} here; there are GET /, GET /metrics, POST /rate, POST /stop"
            ),
        ),
    }
}

fn wrong_method(right: &'static str) -> HttpAnswer {
    let refused = refusal(StatusCode::METHOD_NOT_ALLOWED, &format!("use {right}"));
    HttpAnswer { allow: Some(right), ..refused }
}

fn set_rate(body: &[u8], board: &StatusBoard) -> HttpAnswer {
    let rate = match rate(body) {
        Ok(rate) => rate,
        Err(why) => return refusal(StatusCode::BAD_REQUEST, &why),
    };
    let Some(rate_control) = board.rate_control() else { return not_issuing() };
    match rate_control.set(rate) {
        Ok(change) => json_answer(&json!({
            "rate_per_s": change.rate,
            "before_per_s": change.before,
            "from_s": change.from.as_secs_f64(),
            "from_ns": change.from.0,
        })),
        Err(error @ RateControlError::Rate(_)) => {
            refusal(StatusCode::BAD_REQUEST, &error.to_string())
        }
        Err(error) => refusal(StatusCode::CONFLICT, &error.to_string()),
    }
}

fn not_issuing() -> HttpAnswer {
    refusal(StatusCode::CONFLICT, &RateControlError::NotIssuing.to_string())
}

fn stop(board: &StatusBoard) -> HttpAnswer {
    let Some(rate_control) = board.rate_control() else { return not_issuing() };
    rate_control.drain();
    json_answer(&json!({ "state": "ending" }))
}

/// The rate in a request's body: `20k/s`, or `{"rate": 20000}`, or `{"rate": "20k/s"}`.
fn rate(body: &[u8]) -> Result<f64, String> {
    const EXPECTED: &str = "send 20k/s or {\"rate\": 20000}";
    let body = std::str::from_utf8(body).map_err(|_| format!("the body is no text; {EXPECTED}"))?;
    let body = body.trim();
    if !body.starts_with('{') {
        return text::rate(body).map_err(|error| error.to_string());
    }
    let value: Value =
        serde_json::from_str(body).map_err(|error| format!("{error}; {EXPECTED}"))?;
    let members = value.as_object().map_or(0, serde_json::Map::len);
    match &value["rate"] {
        Value::Number(number) if members == 1 => {
            text::rate(&number.to_string()).map_err(|error| error.to_string())
        }
        Value::String(rate) if members == 1 => text::rate(rate).map_err(|error| error.to_string()),
        _ => Err(format!("the body has another shape; {EXPECTED}")),
    }
}

#[cfg(test)]
mod tests;
