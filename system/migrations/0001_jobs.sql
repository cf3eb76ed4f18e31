-- What clients submitted, and what became of it.
create table jobs (
    id           uuid primary key,
    -- The client's own name for its request: a retry finds the same job.
    request_key  text not null unique,
    -- Digest of the request's canonical JSON: the same key with another meaning is refused.
    request_hash bytea not null,
    document     text not null,
    metadata     jsonb,
    state        text not null default 'pending'
        check (state in ('pending', 'succeeded', 'failed', 'quarantined')),
    label        text,
    -- A replay begins a new series: the count of failures starts afresh.
    series       integer not null default 1,
    submitted_at timestamptz not null default now(),
    ended_at     timestamptz
);

-- "Enqueue this job", written in the job's own transaction.
create table outbox (
    id          bigint generated always as identity primary key,
    job_id      uuid not null references jobs,
    body        text not null,
    state       text not null default 'unsent'
        check (state in ('unsent', 'delivered', 'unsendable')),
    -- How often the queue refused this entry for good.
    refusals    integer not null default 0,
    -- How often sending failed for a passing reason.
    failures    integer not null default 0,
    next_try_at timestamptz not null default now(),
    last_error  text,
    message_id  text,
    created_at  timestamptz not null default now(),
    settled_at  timestamptz
);
create index outbox_unsent on outbox (next_try_at) where state = 'unsent';
create index outbox_of_job on outbox (job_id);

-- What the workers produced. The primary key is the duplicate guard.
create table results (
    job_id     uuid primary key references jobs,
    text       text,
    -- The attempt that made it; null where an operator completed the job.
    message_id text,
    number     integer,
    saved_at   timestamptz not null default now()
);
