//! A server with a few routes. Its argument is a filter; its events go to standard output, or nowhere if the second argument is `quiet`.

use axum::extract::Path;
use axum::routing::{get, post};
use axum::{Json, Router};
use tower_http::trace::TraceLayer;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

jumplabel_agent::startup!();

async fn add(Path((a, b)): Path<(u32, u32)>) -> Json<u32> {
    tracing::debug!(a, b, "adds");
    Json(a.saturating_add(b))
}

/// What was said before stands above this line.
async fn mark() -> &'static str {
    println!("marked");
    "marked\n"
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let filter = std::env::args().nth(1).unwrap_or_default();
    let writer = match std::env::args().nth(2).as_deref() {
        Some("quiet") => BoxMakeWriter::new(std::io::sink),
        _ => BoxMakeWriter::new(std::io::stdout),
    };
    tracing_subscriber::fmt().with_writer(writer).without_time().with_ansi(false).with_env_filter(filter).init();
    jumplabel_agent::serve(jumplabel_tracing::layer()).unwrap();
    let routes = Router::new()
        .route("/", get(|| async { "hello\n" }))
        .route("/add/{a}/{b}", get(add))
        .route("/echo", post(|body: String| async { body }))
        .layer(TraceLayer::new_for_http())
        .route("/mark", get(mark));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("ready {}", listener.local_addr()?);
    axum::serve(listener, routes).await
}
