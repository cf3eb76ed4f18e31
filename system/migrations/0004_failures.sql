-- Jobs whose normal retries ended in the dead-letter queue, with all that is known of why.
create table failures (
    job_id     uuid not null references jobs,
    series     integer not null,
    message_id text not null,
    body       bytea not null,
    -- `never attempted`, or how often and with which last error.
    summary    text not null,
    receives   integer,
    attempts   jsonb not null,
    failed_at  timestamptz not null default now(),
    primary key (job_id, series)
);
