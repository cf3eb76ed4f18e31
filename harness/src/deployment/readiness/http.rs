//! Ready when a GET on its port answers 2xx.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use reqwest::redirect::Policy;

use super::condition::Condition;

/// Between two tries. A port that opens tells nobody.
const TICK: Duration = Duration::from_millis(5);
/// How long one try may take before the next.
const TRY: Duration = Duration::from_secs(2);

/// How what was seen begins when something answered.
pub const ANSWERED: &str = "status";

/// Holds when `GET http://address/path` answers 2xx.
pub fn http(address: SocketAddr, path: &str) -> Condition {
    let url = format!("http://{address}{path}");
    Condition::new(format!("GET {url} to answer 2xx"), |seen| async move {
        let client = match reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .timeout(TRY)
            .build()
        {
            Ok(client) => client,
            Err(error) => {
                seen.note(format!("no HTTP client: {error}"));
                return std::future::pending().await;
            }
        };
        loop {
            match client.get(&url).send().await {
                Ok(answer) if answer.status().is_success() => return,
                Ok(answer) => seen.note(format!("{ANSWERED} {}", answer.status())),
                Err(error) => seen.note(innermost(&error)),
            }
            tokio::time::sleep(TICK).await;
        }
    })
}

/// The outer errors repeat the URL; the innermost says what happened.
fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
