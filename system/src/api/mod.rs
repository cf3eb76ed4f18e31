//! The API: takes submissions, answers for the state of jobs.

mod canonical;
mod status;
mod submit;

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::json;

use crate::store::{Store, StoreError};
use crate::{config, shutdown};

/// Why the API ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// The address is taken, or the signal handlers could not be installed.
    #[error("cannot serve on {0}")]
    Serve(std::net::SocketAddr, #[source] std::io::Error),
    /// The database could not be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Serves until SIGTERM; requests in hand are answered first.
pub(crate) async fn run(settings: config::Api) -> Result<(), ApiError> {
    let cannot = |error| ApiError::Serve(settings.listen, error);
    let stop = shutdown::requested().map_err(cannot)?;
    let connections = settings.database_connections;
    let connected = Store::wait_for(&settings.database, "api", connections);
    let Some(store) = stop.run_until_cancelled(connected).await.transpose()? else {
        return Ok(());
    };
    let router = Router::new()
        .route("/healthz", get(health))
        .route("/outbox", get(backlog))
        .route("/jobs", post(submit::submit))
        .route("/jobs/{job}", get(status::status))
        .with_state(Api {
            store,
            outbox: settings.outbox,
        });
    let listener = tokio::net::TcpListener::bind(settings.listen)
        .await
        .map_err(cannot)?;
    axum::serve(listener, router)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
        .map_err(cannot)
}

/// What answering a request needs.
#[derive(Clone)]
struct Api {
    store: Store,
    outbox: config::Outbox,
}

async fn health(State(api): State<Api>) -> Result<&'static str, Unavailable> {
    api.store.answers().await?;
    Ok("well\n")
}

async fn backlog(State(api): State<Api>) -> Result<Response, Unavailable> {
    let lag = api.outbox.outbox_lag;
    Ok(Json(api.store.backlog(lag).await?).into_response())
}

/// The database could not say. Nothing was promised; the same request may be sent again.
struct Unavailable(StoreError);

impl From<StoreError> for Unavailable {
    fn from(error: StoreError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Unavailable {
    fn into_response(self) -> Response {
        tracing::error!("{}", crate::text(self.0));
        problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "the database did not answer; send the same request again",
        )
    }
}

fn problem(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({ "error": error }))).into_response()
}
