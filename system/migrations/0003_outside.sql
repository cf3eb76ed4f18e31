-- The one write per job to the outside service. The row is durable before the request
-- leaves; a row that is `intended` without an answer is an unknown outcome.
create table outside_writes (
    job_id      uuid primary key references jobs,
    state       text not null
        check (state in ('intended', 'performed', 'not_performed', 'unknown')),
    message_id  text not null,
    number      integer not null,
    -- The text that was extracted before the request left: `resolve done` completes the
    -- job with it, without another write.
    text        text not null,
    answer      text,
    intended_at timestamptz not null default clock_timestamp(),
    answered_at timestamptz
);

-- What the workers gave up. Nothing here is ever deleted.
create table quarantine (
    id            bigint generated always as identity primary key,
    message_id    text not null,
    label         text not null check (label in ('attempt limit', 'timed out', 'outcome unknown',
                                                 'undecodable', 'unknown job')),
    -- Null where the message names no job of ours.
    job_id        uuid references jobs,
    series        integer,
    -- The message as the queue delivered it.
    body          bytea not null,
    -- What the message is about: the document, or the body itself where there is none.
    content       bytea not null,
    media_type    text,
    counted       integer not null,
    last_stage    text,
    attempts      jsonb not null,
    diagnostics   text,
    quarantined_at timestamptz not null default now(),
    cause         text,
    cause_at      timestamptz,
    resolution    text check (resolution in ('done', 'not done')),
    checked       text,
    resolved_at   timestamptz,
    replayed_at   timestamptz
);
create unique index quarantine_of_job on quarantine (job_id, series) where job_id is not null;
create unique index quarantine_of_message on quarantine (message_id) where job_id is null;

-- Answers that came after their attempt had been judged.
create table evidence (
    id         bigint generated always as identity primary key,
    job_id     uuid not null references jobs,
    message_id text not null,
    number     integer not null,
    what       text not null,
    seen_at    timestamptz not null default now()
);

-- What people did, in order.
create table operator_actions (
    id      bigint generated always as identity primary key,
    job_id  uuid references jobs,
    action  text not null,
    note    text,
    done_at timestamptz not null default now()
);
