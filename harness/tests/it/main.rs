//! The harness as its users meet it. One executable: each links half the world.

#![allow(missing_docs, unreachable_pub)]
#![allow(
    clippy::unwrap_used,
    reason = "what a test cannot do without may panic"
)]

mod browser;
mod check;
mod cli_environment;
mod cli_input;
mod cli_interrupt;
mod cli_run;
mod compose;
mod container_dependencies;
mod database_server;
mod desk_forms;
mod docs_taps;
mod driver_conformance;
mod driver_containers;
mod driver_leftovers;
mod driver_processes;
mod driver_support;
mod engine_errors;
mod explore;
mod facts_not_prose;
mod foreign;
mod foreign_containers;
mod generated_inputs;
mod gherkin_libtest;
mod gherkin_run;
mod gherkin_toy;
mod how_to;
mod judge_bypass;
mod judge_histories;
mod manifest_load;
mod manifest_messages;
mod manifest_properties;
mod needs;
mod no_leak;
mod python;
mod python_system;
mod queue_server;
mod record;
mod redis_systems;
mod reports;
mod show;
mod stub;
mod table_systems;
mod tap_http;
mod tap_postgres;
mod tap_sqs;
mod told_plainly;
